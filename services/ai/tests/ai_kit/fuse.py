"""Ends a simulated process before any of its database statements."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from chassis.db.database import Database


class Killed(Exception):
    """Raised where the simulated process ends."""


class Fuse:
    """Counts statements, commits and calls, and raises Killed before the n-th of them."""

    def __init__(self, database: Database) -> None:
        self.left: int | None = None
        #: Whether the last block ran to its end.
        self.finished = True
        event.listen(database.engine, "before_cursor_execute", self._see)

    def _see(self, _connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement != "ROLLBACK":  # after a kill the server rolls back
            self.burn()

    def burn(self) -> None:
        if self.left is not None:
            if self.left == 0:
                self.left = None
                raise Killed
            self.left -= 1

    @contextmanager
    def lit(self, length: int | None) -> Iterator[None]:
        """Runs a block that is ended by Killed after `length` steps, or never if that is None. Changes that were
        committed stay.

        Afterwards `finished` tells whether the block ran to its end.
        """
        self.left, self.finished = length, False
        try:
            yield
            self.finished = True
        except Killed:
            pass
        finally:
            self.left = None
