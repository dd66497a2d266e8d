#!/bin/sh
# Fetches what a lock names, as wheels, for install.sh on a machine without a registry (PIP_NO_INDEX, PIP_FIND_LINKS):
#   fetch.sh INTO LOCK
set -eu
"${PYTHON:-python3}" -m pip wheel --quiet --no-deps --wheel-dir "$1" -r "$2"
