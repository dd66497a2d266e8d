"""The probe service is found by the tests and by the process that runs it."""

import sys
from pathlib import Path

PROBE = str(Path(__file__).parents[1] / "probe")
if PROBE not in sys.path:
    sys.path.insert(0, PROBE)
