#!/bin/sh
# An environment that holds what the packages' locks say, the packages, and nothing else:
#   install.sh INTO WHEELS PACKAGE…   e.g. install.sh /opt/posthaste /wheels services/quota
# Several packages share it: their locks are cut from one and never differ. Not even pip is in it; pip works from outside.
set -eu
into=$1 wheels=$2
shift 2
python=${PYTHON:-python3}

"$python" -m venv --without-pip "$into"
for package in "$@"; do
  # Our own by their files: no registry is asked for their names.
  set -- "$@" -r "$package/requirements.lock" "$wheels/posthaste_$(basename "$package")"-*.whl
  shift
done
case " $* " in
  *simulator*) ;; # which stands alone
  *) set -- "$@" "$wheels"/posthaste_contracts-*.whl "$wheels"/posthaste_chassis-*.whl ;;
esac
"$python" -m pip --python "$into/bin/python" install --quiet --no-deps "$@"
