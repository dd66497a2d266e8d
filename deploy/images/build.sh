#!/bin/sh
# Our packages as wheels: build.sh WHEELS PACKAGE…   e.g. build.sh /wheels services/quota
# From the root of the repository; with contracts and chassis. Works on a copy: setuptools leaves its work beside sources.
set -eu
wheels=$1
shift
sources=$(mktemp -d)
trap 'rm -rf "$sources"' EXIT

for package in libs/contracts libs/chassis "$@"; do
  copy=$sources/$(basename "$package")
  cp -R "$package" "$copy"
  rm -rf "$copy/tests" "$copy/build"
  find "$copy" \( -name __pycache__ -o -name '*.egg-info' \) -prune -exec rm -rf {} +
done
"${PYTHON:-python3}" -m pip wheel --quiet --no-deps --no-index --no-build-isolation --wheel-dir "$wheels" "$sources"/*
