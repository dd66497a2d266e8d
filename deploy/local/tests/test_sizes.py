"""The size of folders and files, so that a reader can take them in: at most 20 source files, at most 400 lines."""

import subprocess
from collections import Counter

from local.paths import ROOT

SOURCE = ("*.py", "*.ts", "*.js")
#: Written by a program, or a copy of somebody else's file.
GENERATED = (
    "clients/node/src/inputs.ts",
    "clients/node/src/operations.ts",
    "clients/node/src/records.ts",
    "clients/python/posthaste/operations/",
    "clients/python/posthaste/records.py",
)
#: Migrations are a list that only grows.
LISTS = ("/migrations",)


def sources() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", *SOURCE], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return [path for path in listed.splitlines() if (ROOT / path).is_file()]


def test_no_folder_holds_more_than_20_source_files() -> None:
    files = Counter(path.rpartition("/")[0] for path in sources())
    assert {name: count for name, count in files.items() if count > 20 and not name.endswith(LISTS)} == {}


def test_no_source_file_has_more_than_400_lines() -> None:
    lines = {
        path: len((ROOT / path).read_bytes().splitlines())
        for path in sources()
        if not path.startswith(GENERATED)
    }
    assert {path: count for path, count in lines.items() if count > 400} == {}
