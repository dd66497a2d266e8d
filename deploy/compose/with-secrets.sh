#!/bin/sh
# For servers whose images take a secret as a variable alone: with-secrets.sh NAME… -- COMMAND…
# Each NAME has a value, or becomes what stands in the file NAME_FILE; one of the two, never both.
set -eu
while [ "$1" != -- ]; do
  eval "value=\${$1:-} file=\${$1_FILE:-}"
  if [ -n "$value" ] && [ -s "$file" ]; then
    echo "$1 and $1_FILE are both set" >&2
    exit 1
  fi
  if [ -s "$file" ]; then value=$(cat "$file"); fi
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
