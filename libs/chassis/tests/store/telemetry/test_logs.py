"""Log lines are JSON, whichever library writes them, and leave out the rows that a database quotes in its errors."""

import json
import subprocess
import sys
from collections.abc import Callable

import psycopg2
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from chassis.db.database import Database, fetch
from chassis.telemetry import logs

SECRET = "the-words-of-a-post"


@pytest.mark.parametrize("way", ["driver", "sqlalchemy"])
def test_an_error_of_a_database_is_logged_without_the_row_that_it_quotes(
    open_database: Callable[[str], Database], way: str
) -> None:
    database = open_database("quota")
    with pytest.raises((psycopg2.Error, DBAPIError)) as failure, database.transaction() as connection:
        connection.execute(text("CREATE TEMP TABLE t (word text PRIMARY KEY, n integer NOT NULL)"))
        if way == "driver":
            fetch(connection, "INSERT INTO t (word) VALUES (%s)", (SECRET,))
        connection.execute(text("INSERT INTO t (word) VALUES (:word)"), {"word": SECRET})
    said = logs.format_exception((failure.type, failure.value, failure.tb))
    assert "violates not-null constraint [23502]" in said
    assert "test_logs.py" in said
    assert SECRET not in said
    assert SECRET not in logs.summary_of(failure.value)


def test_an_error_is_logged_with_its_causes() -> None:
    try:
        try:
            raise KeyError("first")
        except KeyError as error:
            raise ValueError("second") from error
    except ValueError as error:
        said = logs.format_exception((type(error), error, error.__traceback__))
    assert said.index("KeyError: 'first'") < said.index("which led to:") < said.index("ValueError: second")


def test_libraries_warnings_and_what_nobody_caught_come_as_lines_too() -> None:
    code = (
        "import logging, threading, warnings\nfrom chassis.telemetry import logs\nlogs.configure('quota')\n"
        "logging.getLogger('somebody.else').warning('a %s line', 'library')\n"
        "warnings.warn('old habit')\n"
        "t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()\n"
        "raise LookupError('at the end')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["level"] for line in lines] == ["warning", "warning", "error", "error"], done.stderr
    assert {line["service"] for line in lines} == {"quota"}
    assert lines[0]["event"] == "a library line"
    assert "old habit" in lines[1]["event"]
    assert "ZeroDivisionError" in lines[2]["exception"]
    assert lines[3]["exception"] == '  File "<string>", line 7, in <module>\nLookupError: at the end'
    assert done.stderr == ""
