#!/bin/sh
# An environment that holds what the packages' locks say, the packages, and nothing else:
#   install.sh INTO WHEELS PACKAGE…   e.g. install.sh /opt/posthaste /wheels services/quota
# Several packages share it: their locks are cut from one and never differ. Not even pip is in it; pip works from outside.
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
# Foreign files only with a hash that stands in the lock, and nothing is built here: the tools of a build have no lock.
"$python" -m pip --python "$into/bin/python" install --quiet --no-deps --require-hashes --only-binary :all: "$@"

case "$own " in
  *" simulator "*) ;; # which stands alone
  *) own="$own contracts chassis" ;;
esac
set --
for name in $own; do
  set -- "$@" "$wheels/posthaste_$name"-*.whl
done
# Our own by their files: no registry is asked for their names.
"$python" -m pip --python "$into/bin/python" install --quiet --no-deps --no-index "$@"
