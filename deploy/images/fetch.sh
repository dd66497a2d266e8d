#!/bin/sh
# Fetches the files that a lock names, for install.sh on a machine without a registry (PIP_NO_INDEX, PIP_FIND_LINKS):
#   fetch.sh INTO LOCK
# Wheels for this Python and this machine alone; nothing is built, because what is built has no hash in a lock.
set -eu
"${PYTHON:-python3}" -m pip download --quiet --no-deps --require-hashes --only-binary :all: --dest "$1" -r "$2"
