"""A simulated process that may end before or after each of its steps."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from chassis.db.database import Database


class ProcessDied(BaseException):
    """Raised where the simulated process ends. No handler in the code under test catches it."""


class Life:
    """Counts the steps of one process. The first step after number `last` raises ProcessDied."""

    def __init__(self, last: int | None = None) -> None:
        self.last = last
        self.steps = 0

    def step(self) -> None:
        self.steps += 1
        if self.last is not None and self.steps > self.last:
            raise ProcessDied

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a function that counts a step before and a step after each call."""

        def stepping(*args: Any, **options: Any) -> Any:
            self.step()
            result = function(*args, **options)
            self.step()
            return result

        return stepping


class MortalDatabase:
    """A Database that counts a step before each transaction, before its commit and after it."""

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
    """A proxy of a service or provider that counts a step before and a step after each call."""

    def __init__(self, party: Any, life: Life) -> None:
        self._party, self._life = party, life

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._party, name)
        return self._life.around(value) if callable(value) else value
