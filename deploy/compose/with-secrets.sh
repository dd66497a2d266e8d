#!/bin/sh
# For servers whose images take a secret as a variable alone: with-secrets.sh NAME… -- COMMAND…
# Each NAME is left as it is where it has a value, else it becomes what stands in the file NAME_FILE. One of both is needed.
set -eu
while [ "$1" != -- ]; do
  eval "value=\${$1:-} file=\${$1_FILE:-}"
  if [ -z "$value" ] && [ -s "$file" ]; then value=$(cat "$file"); fi
  if [ -z "$value" ]; then
    echo "$1 is not set, and there is nothing in the file ${file:-$1_FILE}" >&2
    exit 1
  fi
  export "$1=$value"
  unset "$1_FILE"
  shift
done
shift
exec "$@"
