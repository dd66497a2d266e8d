"""Looks with exiftool for what a stored file still tells about people: places, names, dates and comments."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

_SECONDS = 60
#: What exiftool adds itself (names and times of the file on disk, sums), and colour profiles, which are kept.
_LEFT_OUT = ("--System:all", "--ExifTool:all", "--Composite:all", "--ICC_Profile:all")
_PRIVATE = re.compile(
    r"GPS|Latitude|Longitude|Location|City|Country|Author|Artist|Creator|Owner|Byline|By-line|Copyright|Credit"
    r"|Date|TimeStamp|DateTime|Comment|Title|^(Image)?Description$|Caption|Subject|Keywords|Serial"
)
#: Dates that say nothing: a video's index must have some.
_EMPTY = ("", "0000:00:00 00:00:00")


def exiftool() -> str | None:
    """Returns the path of exiftool: that in EXIFTOOL, or the one on PATH (Debian: libimage-exiftool-perl)."""
    return shutil.which(os.environ.get("EXIFTOOL", "exiftool"))


def find(program: str, file: Path) -> tuple[str, ...]:
    """Returns the names of the notes about people in the file, with those inside of its tracks."""
    command = (program, "-ee", "-a", "-G1", "-j", *_LEFT_OUT, str(file))
    said = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False).stdout
    return private(json.loads(said or "[{}]")[0])


def private(notes: dict[str, Any]) -> tuple[str, ...]:
    """Returns which of these notes, "group:name" → value, tell a place, a name, a date or a comment."""
    return tuple(
        name
        for name, value in notes.items()
        if _PRIVATE.search(name.rpartition(":")[2]) and str(value).strip() not in _EMPTY
    )
