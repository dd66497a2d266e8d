"""The script `./dev`, which must work on a machine where nothing has been set up."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from local.paths import ROOT

TOOLS = ("bash", "cat", "cut", "dirname", "env", "flock", "id", "readlink", "sha256sum")


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A PATH without any Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found
        (folder / tool).symlink_to(found)
    return folder


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A checkout with only the script."""
    shutil.copy(ROOT / "dev", tmp_path / "dev")
    return tmp_path


def add_python(tools: Path, answers: str) -> None:
    program = tools / "python3"
    program.write_text(f"#!/bin/sh\n{answers}\n")
    program.chmod(0o755)


def run(
    script: Path, *arguments: str, path: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    if path is not None:
        env["PATH"] = str(path)
    return subprocess.run(
        [shutil.which("bash") or "bash", str(script), *arguments],
        env=env,
        cwd="/",
        capture_output=True,
        text=True,
    )


def test_help_works_from_anywhere_with_an_empty_environment() -> None:
    done = run(ROOT / "dev", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"\n  {name} " in done.stdout for name in ("up", "down", "demo", "test", "bench", "ctl"))


@pytest.mark.parametrize("command", ["test", "bench", "down"])
def test_help_of_a_command_starts_and_stops_nothing(command: str) -> None:
    done = run(ROOT / "dev", command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"./dev {command}  ")


def test_a_reader_that_leaves_early_ends_the_output_without_a_traceback() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([ROOT / "dev", "--help"], stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_command_is_wrong_usage() -> None:
    done = run(ROOT / "dev", "dance")
    assert done.returncode == 2
    assert "dance" in done.stderr


def test_without_python_the_message_says_which_is_needed(fresh: Path, tools: Path) -> None:
    done = run(fresh / "dev", path=tools)
    assert done.returncode == 1
    assert "Python 3.11 or newer was not found" in done.stderr


def test_compiled_files_are_kept_whatever_the_environment_says(fresh: Path, tools: Path) -> None:
    add_python(tools, f'echo "[$PYTHONDONTWRITEBYTECODE]" >>{fresh}/seen; exit 1')
    run(fresh / "dev", path=tools, PYTHONDONTWRITEBYTECODE="1")
    assert set((fresh / "seen").read_text().splitlines()) == {"[]"}


def test_an_old_python_is_not_taken(fresh: Path, tools: Path) -> None:
    add_python(tools, "exit 1")
    done = run(fresh / "dev", path=tools)
    assert done.returncode == 1
    assert "Python 3.11 or newer was not found" in done.stderr


def test_an_incomplete_venv_module_names_the_package_to_install(fresh: Path, tools: Path) -> None:
    add_python(tools, 'case "$2" in *ensurepip*) exit 1;; *-venv*) echo python3.99-venv;; esac')
    done = run(fresh / "dev", path=tools)
    assert done.returncode == 1
    assert "python3.99-venv" in done.stderr


@pytest.mark.parametrize("command", ["down", "demo", "bench", "servers"])
def test_asking_what_a_command_does_does_not_do_it(command: str) -> None:
    done = run(ROOT / "dev", command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"./dev {command}  ")
