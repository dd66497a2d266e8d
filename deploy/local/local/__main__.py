"""`python -m local`: what `./dev` hands over to."""

import sys

from local.cli import main

sys.exit(main())
