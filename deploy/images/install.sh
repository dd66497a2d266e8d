#!/bin/sh
# Creates an environment with the packages and their locked dependencies, and nothing else:
#   install.sh INTO WHEELS PACKAGE…   e.g. install.sh /opt/posthaste /wheels services/quota
# Several packages may share it: their locks are parts of one lock. It does not contain pip, which runs from outside.
set -eu
into=$1 wheels=$2
shift 2
python=${PYTHON:-python3}

"$python" -m venv --without-pip "$into"
own=
for package in "$@"; do
  own="$own $(basename "$package")"
  shift
  set -- "$@" -r "$package/requirements.lock"
done
# Third-party files need a hash in the lock, and nothing is built: the tools of a build have no lock.
"$python" -m pip --python "$into/bin/python" install --quiet --no-deps --require-hashes --only-binary :all: "$@"

case "$own " in
  *" simulator "*) ;; # which stands alone
  *" dashboard "*) own="$own social" ;; # the Python client is all that it knows of us
  *) own="$own contracts chassis" ;;
esac
set --
for name in $own; do
  set -- "$@" "$wheels/posthaste_$name"-*.whl
done
# Our own packages are installed from files: no registry is asked for their names.
"$python" -m pip --python "$into/bin/python" install --quiet --no-deps --no-index "$@"
