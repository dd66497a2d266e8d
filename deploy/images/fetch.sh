#!/bin/sh
# Fetches the files that locks name, for install.sh without a registry (PIP_NO_INDEX, PIP_FIND_LINKS):
#   fetch.sh INTO LOCK…
# Only wheels for this Python and machine; nothing is built, because built files have no hash in a lock.
set -eu
into=$1
shift
for lock in "$@"; do
  shift
  set -- "$@" -r "$lock"
done
"${PYTHON:-python3}" -m pip download --quiet --no-deps --require-hashes --only-binary :all: --dest "$into" "$@"
