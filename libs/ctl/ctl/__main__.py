"""Runs the operator's command line: `python -m ctl` is the same as `posthaste`."""

from ctl.cli import main

main()
