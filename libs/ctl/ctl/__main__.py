"""`python -m ctl`, the same as `posthaste`."""

from ctl.cli import main

main()
