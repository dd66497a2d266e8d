"""Creates certificates for servers on this machine, with the script that operators use (`deploy/tls`)."""

import subprocess
from pathlib import Path

from local.paths import ROOT

SCRIPT = ROOT / "deploy" / "tls" / "make-certificates.sh"


def make(folder: Path, *servers: str) -> Path:
    """Creates `ca.crt`, and `NAME.crt` and `NAME.key` for each server (`NAME,ADDRESS,…`). Returns the folder."""
    subprocess.run([SCRIPT, folder, *servers], check=True, capture_output=True, timeout=60)
    return folder
