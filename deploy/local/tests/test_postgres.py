"""The place of PostgreSQL's data: in memory for tests if there is room. The data is removed with the run directory."""

from pathlib import Path

import pytest

from local.servers import postgres


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that replaces /dev/shm."""
    folder = tmp_path / "shm"
    folder.mkdir()
    monkeypatch.setattr(postgres, "MEMORY", folder)
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    return folder


def test_the_data_of_a_run_directory_lies_in_memory_and_is_removed_with_it(memory: Path, run: Path) -> None:
    postgres.link_to_memory(run)
    (run / "pgdata" / "PG_VERSION").touch()
    assert (run / "pgdata").resolve().parent == memory
    postgres.remove(run)
    assert list(memory.iterdir()) == list(run.iterdir()) == []


def test_the_data_of_a_run_directory_that_somebody_removed_is_removed_by_the_next(
    memory: Path, run: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for folder in (run, other):
        postgres.link_to_memory(folder)
    (run / "pgdata").unlink()
    run.rmdir()
    postgres.remove_forgotten()
    data = (other / "pgdata").resolve()
    assert sorted(memory.iterdir()) == sorted([data, data.with_suffix(".of")])


def test_a_machine_whose_memory_was_emptied_begins_anew(memory: Path, run: Path) -> None:
    postgres.link_to_memory(run)
    (run / "pgdata").resolve().rmdir()
    postgres.link_to_memory(run)
    assert (run / "pgdata").is_dir()


def test_without_room_in_memory_the_data_stays_on_the_disk(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert memory.exists()
    monkeypatch.setattr(postgres, "MEMORY_BYTES", 0)
    assert postgres.has_memory()
    monkeypatch.setattr(postgres, "MEMORY_BYTES", 2**60)
    assert not postgres.has_memory()
    monkeypatch.setattr(postgres, "MEMORY", memory / "missing")
    assert not postgres.has_memory()


def test_data_on_the_disk_is_removed_too(run: Path) -> None:
    (run / "pgdata").mkdir()
    postgres.remove(run)
    assert list(run.iterdir()) == []
