"""Migrations while a release runs: each has its own transaction, and its indexes are built before it without a lock."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.engine import make_url

from chassis import migrate as migrating
from chassis.ids import new_id
from chassis.migrate import migrate

TABLE = 'op.execute("CREATE TABLE things (id int PRIMARY KEY, colour text)")'
COLUMN = 'op.execute("ALTER TABLE things ADD COLUMN size int")'
INDEXES = "INDEXES = {'things_by': 'things (%s)'}"


@pytest.fixture
def versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Adds a migration to the test's service."""
    monkeypatch.setattr(migrating, "migrations_of", lambda service: tmp_path)

    def add(number: int, upgrade: str, head: str = "") -> None:
        before = f"'{number - 1}'" if number > 1 else None
        source = f"from alembic import op\n{head}\nrevision, down_revision = '{number}', {before}\n"
        (tmp_path / f"{number}.py").write_text(f"{source}\ndef upgrade():\n    {upgrade}\n")

    return add


@pytest.fixture
def engine(admin: Engine) -> Iterator[Engine]:
    """An empty database."""
    name = new_id("t")
    with admin.connect() as connection:
        connection.execute(text(f'CREATE DATABASE "{name}"'))
    engine = create_engine(make_url(admin.url).set(database=name))
    yield engine
    engine.dispose()
    with admin.connect() as connection:
        connection.execute(text(f'DROP DATABASE "{name}" WITH (FORCE)'))


def run(engine: Engine) -> None:
    migrate("things", engine.url.render_as_string(hide_password=False))


def is_valid(engine: Engine) -> Any:
    found = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('things_by')"
    with engine.connect() as connection:
        return connection.execute(text(found)).scalar()


def upgrade_beside_a_reader(engine: Engine) -> None:
    """Migrates while a transaction that has read the table stays open. Asserts that others can write to the table
    meanwhile.
    """
    with engine.connect() as earlier, engine.connect() as later:
        reader = earlier.execution_options(isolation_level="REPEATABLE READ")
        reader.execute(text("SELECT count(*) FROM things WHERE colour = 'red'"))
        upgrading = threading.Thread(target=run, args=[engine])
        upgrading.start()
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INDEX CONC%'"
        until = time.monotonic() + 10
        while not later.execute(text(waits)).scalar() and time.monotonic() < until:
            later.rollback()
            time.sleep(0.01)
        later.execute(text("SET lock_timeout = '2s'"))
        later.execute(text("INSERT INTO things VALUES (2, 'red')"))
        later.commit()
        assert upgrading.is_alive(), "it waits for the transaction that is open"
        earlier.commit()
    upgrading.join(20)


def test_a_table_is_written_to_while_an_index_is_built(engine: Engine, versions: Any) -> None:
    versions(1, TABLE)
    versions(2, COLUMN)
    run(engine)
    versions(3, "pass", INDEXES % "size")
    upgrade_beside_a_reader(engine)
    assert is_valid(engine)


def test_a_table_is_written_to_while_an_index_is_dropped(engine: Engine, versions: Any) -> None:
    versions(1, TABLE)
    versions(2, "pass", INDEXES % "colour")
    run(engine)
    versions(3, "pass", "DROPS = ('things_by', 'never_made')")
    upgrade_beside_a_reader(engine)
    assert is_valid(engine) is None
    run(engine)


def test_the_index_on_a_column_is_built_once_the_column_is_there(engine: Engine, versions: Any) -> None:
    versions(1, TABLE)
    versions(2, COLUMN)
    versions(3, "pass", INDEXES % "size")
    run(engine)
    assert is_valid(engine)


def test_an_index_whose_building_was_cut_off_is_built_again(engine: Engine, versions: Any) -> None:
    versions(1, TABLE)
    run(engine)
    with engine.begin() as connection:
        connection.execute(text("CREATE INDEX things_by ON things (colour)"))
        connection.execute(
            text("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'things_by'::regclass")
        )
    versions(2, "pass", INDEXES % "colour")
    run(engine)
    assert is_valid(engine)


def test_an_index_that_is_there_already_needs_no_lock_on_its_table(engine: Engine, versions: Any) -> None:
    versions(1, TABLE)
    run(engine)
    with engine.begin() as connection:
        connection.execute(text("CREATE INDEX things_by ON things (colour)"))
    versions(2, "pass", INDEXES % "colour")
    with engine.begin() as busy:
        busy.execute(text("LOCK TABLE things IN ACCESS EXCLUSIVE MODE"))
        upgrading = threading.Thread(target=run, args=[engine])
        upgrading.start()
        upgrading.join(30)
        assert not upgrading.is_alive()
    assert is_valid(engine)


def test_an_upgrade_that_failed_halfway_keeps_what_is_done_and_goes_on_from_there(
    engine: Engine, versions: Any
) -> None:
    versions(1, TABLE)
    versions(2, COLUMN)
    versions(3, "raise RuntimeError('cut off')", INDEXES % "size")
    with pytest.raises(RuntimeError, match="cut off"):
        run(engine)
    assert version(engine) == "2"
    versions(3, 'op.execute("ALTER TABLE things ADD COLUMN weight int")', INDEXES % "size")
    run(engine)
    assert version(engine) == "3"
    assert is_valid(engine)


def version(engine: Engine) -> Any:
    with engine.connect() as connection:
        return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
