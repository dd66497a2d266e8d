"""How `python -m gateway` starts."""

import subprocess
import sys


def test_the_port_opens_before_the_imports_that_take_time() -> None:
    """Until the port is open, an upgrade on Compose refuses requests."""
    before_it = subprocess.run(
        [sys.executable, "-c", "import gateway.__main__, sys; print(*sys.modules)"],
        capture_output=True, check=True, text=True,
    ).stdout.split()  # fmt: skip
    assert "socket" in before_it
    assert not {"chassis", "contracts", "flask", "gevent", "gunicorn", "msgspec"}.intersection(before_it)
