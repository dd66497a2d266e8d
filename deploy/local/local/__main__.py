"""`python -m local`: runs the commands of `./dev`."""

import sys

from local.cli import main

sys.exit(main())
