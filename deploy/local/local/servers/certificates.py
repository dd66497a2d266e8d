"""Creates certificates for servers on this machine, with the script that operators use (`deploy/tls`)."""

import subprocess
from pathlib import Path

from local.paths import ROOT

SCRIPT = ROOT / "deploy" / "tls" / "make-certificates.sh"


def make(folder: Path, *servers: str) -> Path:
    """Creates a certificate authority with the certificate `ca.crt`, and for each server a certificate `NAME.crt` with
    its key `NAME.key`. Returns the folder.

    `servers`: for each server its host name, then further host names and IP addresses: `NAME,ADDRESS,…`.
    """
    subprocess.run([SCRIPT, folder, *servers], check=True, capture_output=True, timeout=60)
    return folder
