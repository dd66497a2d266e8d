"""The limit of open files that a process sets before it starts."""

import subprocess
import sys

ASKING = """
import resource
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (256, most))
from chassis import run
run.allow_all_files()
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, most)
"""


def test_a_process_may_have_as_many_files_open_as_the_system_lets_it() -> None:
    subprocess.run([sys.executable, "-c", ASKING], check=True, timeout=60)
