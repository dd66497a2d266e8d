"""A process that may die before or after each of its steps."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from chassis.db.database import Database


class ProcessDied(BaseException):
    """Ends everything the process was doing."""


class Life:
    """Counts the steps of one process and ends it after step `last`."""

    def __init__(self, last: int | None = None) -> None:
        self.last = last
        self.steps = 0

    def step(self) -> None:
        self.steps += 1
        if self.last is not None and self.steps > self.last:
            raise ProcessDied

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the function with a step before and one after it."""

        def stepping(*args: Any, **options: Any) -> Any:
            self.step()
            result = function(*args, **options)
            self.step()
            return result

        return stepping


class MortalDatabase:
    """The database, with a step before each transaction, before its commit and after it."""

    def __init__(self, database: Database, life: Life) -> None:
        self._database, self._life = database, life

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        self._life.step()
        with self._database.transaction() as connection:
            yield connection
            self._life.step()
        self._life.step()

    @contextmanager
    def reading(self) -> Iterator[Any]:
        self._life.step()
        with self._database.reading() as connection:
            yield connection


class SteppingProxy:
    """Another party. Each call to it has a step before and one after it."""

    def __init__(self, party: Any, life: Life) -> None:
        self._party, self._life = party, life

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._party, name)
        return self._life.around(value) if callable(value) else value
