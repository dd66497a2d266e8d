#!/bin/sh
# For servers whose images accept secrets only as variables: with-secrets.sh NAME… -- COMMAND…
# Each NAME has a value, or gets the contents of the file NAME_FILE; never both.
set -eu
while [ "$1" != -- ]; do
  eval "value=\${$1:-} file=\${$1_FILE:-}"
  if [ -n "$value" ] && [ -s "$file" ]; then
    echo "$1 and $1_FILE are both set: remove one" >&2
    exit 1
  fi
  if [ -s "$file" ]; then value=$(cat "$file"); fi
  if [ -z "$value" ]; then
    echo "$1 is not set, and the file ${file:-$1_FILE} is missing or empty" >&2
    exit 1
  fi
  export "$1=$value"
  unset "$1_FILE"
  shift
done
shift
exec "$@"
