"""The paths of the checkout and of the run directories."""

from pathlib import Path

#: The checkout `./dev` belongs to.
ROOT = Path(__file__).resolve().parents[3]
#: State of the stack `./dev up` starts.
RUN = ROOT / ".run"
#: State of everything that tests and benchmarks start.
RUN_TEST = ROOT / ".run-test"
