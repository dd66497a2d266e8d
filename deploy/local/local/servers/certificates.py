"""Certificates for servers that this machine runs, by the script that operators use (`deploy/tls`)."""

import subprocess
from pathlib import Path

from local.paths import ROOT

SCRIPT = ROOT / "deploy" / "tls" / "make-certificates.sh"


def make(folder: Path, *servers: str) -> Path:
    """`ca.crt`, and `NAME.crt` with `NAME.key` of each server, given as `NAME,ADDRESS,…`; the folder."""
    subprocess.run([SCRIPT, folder, *servers], check=True, capture_output=True, timeout=60)
    return folder
