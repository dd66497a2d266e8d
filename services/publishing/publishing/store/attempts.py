"""SQL of the attempts to publish a post, as they are shown. `sending.py` writes them."""

from datetime import datetime

from sqlalchemy import Connection, bindparam, select

from publishing.models import attempts
from publishing.records import Row, column_names


class AttemptRow(Row):
    """An attempt; columns are explained in `models.attempts`."""

    number: int
    began_at: datetime
    ended_at: datetime | None
    outcome: str | None
    error_code: str | None
    error_message: str | None


_OF_POST = (
    select(*(attempts.c[name] for name in column_names(AttemptRow)))
    .where(attempts.c.post_id == bindparam("post_id"))
    .order_by(attempts.c.number)
)


class Attempts:
    """Attempts over an open connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def of_post(self, post_id: str) -> list[AttemptRow]:
        """Returns the attempts of a post, oldest first."""
        rows = self._connection.execute(_OF_POST, {"post_id": post_id}).mappings()
        return [AttemptRow.of(row) for row in rows]
