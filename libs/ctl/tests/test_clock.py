"""The command that shifts the clock shifts it in every service's database and in the simulator."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chassis.db import clock
from chassis.db.database import Database


@pytest.fixture
def databases(
    open_database: Callable[[str], Database], monkeypatch: pytest.MonkeyPatch, line: Any
) -> list[Database]:
    """The databases of two services, with their variables in the environment."""
    opened = [open_database("accounts"), open_database("accounts")]
    for name, database in zip(("ONE", "TWO"), opened, strict=True):
        url = database.engine.url.render_as_string(hide_password=False)
        monkeypatch.setenv(f"DATABASE_URL_{name}", url)
    monkeypatch.setenv("CLOCK_SHIFT_ALLOWED", "true")
    return opened


def shifts(databases: list[Database]) -> list[float]:
    found = []
    for database in databases:
        with database.reading() as connection:
            found.append(clock.shift_seconds(connection))
    return found


def test_a_shift_adds_to_the_present_one_everywhere(line: Any, databases: Any, simulator: Any) -> None:
    line.json("clock", "shift", "3600")
    state = line.json("clock", "shift", "90.5")
    assert state["shift_seconds"] == 3690.5
    assert state["databases"] == {"one": 3690.5, "two": 3690.5}
    assert shifts(databases) == [3690.5, 3690.5]
    assert simulator == [("/_sim/clock", {"shift_seconds": n}) for n in (3600.0, 3690.5)]
    ahead = datetime.fromisoformat(state["now"]) - datetime.now(UTC)
    assert timedelta(seconds=3600) < ahead <= timedelta(seconds=3691)


def test_a_shift_may_go_back_and_reset_returns_to_real_time(line: Any, databases: Any) -> None:
    assert line.json("clock", "shift", "-60")["shift_seconds"] == -60
    assert line.json("clock", "reset")["shift_seconds"] == 0
    assert shifts(databases) == [0, 0]


def test_a_database_that_came_later_catches_up(line: Any, databases: Any) -> None:
    with databases[0].transaction() as connection:
        clock.set_shift(connection, 100)
    assert line.json("clock", "show")["databases"] == {"one": 100, "two": 0}
    line.json("clock", "shift", "1")
    assert shifts(databases) == [101, 101]


def test_when_the_simulator_does_not_answer_no_clock_moves(
    line: Any, databases: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMULATOR_URL", "http://127.0.0.1:9")
    assert line.json("clock", "shift", "60", exit_code=1)["code"] == "SERVICE_UNAVAILABLE"
    assert shifts(databases) == [0, 0]


def test_times_are_written_as_the_api_writes_them(line: Any, databases: Any) -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z", line.json("clock", "show")["now"])
