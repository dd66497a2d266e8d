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
  case $package in simulator) own="$own posthaste-simulator" ;; *) own="$own posthaste-contracts posthaste-chassis posthaste-${package##*/}" ;; esac
  set -- "$@" -r "$package/requirements.lock"
  shift
done
pip() { "$python" -m pip --python "$into/bin/python" install --quiet --no-deps "$@"; }
pip "$@"
# shellcheck disable=SC2086 # one word a package
pip --no-index --find-links "$wheels" $own
