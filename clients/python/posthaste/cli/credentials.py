"""The stored sign-in: address and token, in a file that only its user may read."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Credentials:
    url: str
    token: str = field(repr=False)


def path() -> Path:
    """Returns $XDG_CONFIG_HOME/posthaste/credentials.json, by default below ~/.config."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "posthaste" / "credentials.json"


def load() -> Credentials | None:
    """Returns the stored address and token; None if there is no file, or it cannot be read."""
    try:
        told = json.loads(path().read_text("utf-8"))
        return Credentials(url=str(told["url"]), token=str(told["token"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def store(credentials: Credentials) -> None:
    """Writes the file, readable by its user alone (mode 0600), and replaces an earlier one as a whole. Raises OSError
    if it cannot be written.
    """
    target = path()
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=target.parent)
    with open(handle, "w", encoding="utf-8") as file:
        json.dump(asdict(credentials), file)
    os.replace(name, target)


def remove() -> None:
    path().unlink(missing_ok=True)
