#!/bin/sh
# Builds our packages as wheels: build.sh WHEELS PACKAGE…   e.g. build.sh /wheels services/quota
# Run it in the root of the repository. Includes contracts and chassis, and the client that the dashboard uses. Works on a copy, because setuptools writes beside sources.
set -eu
wheels=$1
shift
sources=$(mktemp -d)
trap 'rm -rf "$sources"' EXIT

for package in libs/contracts libs/chassis clients/python "$@"; do
  copy=$sources/$(basename "$package")
  cp -RL "$package" "$copy" # with the guides that the gateway's package links to
  rm -rf "$copy/tests" "$copy/build"
  find "$copy" \( -name __pycache__ -o -name '*.egg-info' \) -prune -exec rm -rf {} +
done
"${PYTHON:-python3}" -m pip wheel --quiet --no-deps --no-index --no-build-isolation --wheel-dir "$wheels" "$sources"/*
