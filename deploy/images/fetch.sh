#!/bin/sh
# Fetches the files that a lock names, for install.sh on a machine without a registry (PIP_NO_INDEX, PIP_FIND_LINKS):
#   fetch.sh INTO LOCK
# Only wheels for this Python and machine; nothing is built, because built files have no hash in a lock.
set -eu
"${PYTHON:-python3}" -m pip download --quiet --no-deps --require-hashes --only-binary :all: --dest "$1" -r "$2"
