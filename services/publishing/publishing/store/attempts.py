"""SQL that reads the attempts to publish posts, for showing them. `sending.py` writes them."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import Connection, Text, bindparam, func, select
from sqlalchemy.dialects.postgresql import ARRAY

from publishing.models import attempts
from publishing.records import Row, column_names


class AttemptRow(Row):
    """A row of the table of attempts. `models.attempts` explains the columns."""

    number: int
    began_at: datetime
    ended_at: datetime | None
    outcome: str | None
    error_code: str | None
    error_message: str | None


_OF_POSTS = (
    select(attempts.c.post_id, *(attempts.c[name] for name in column_names(AttemptRow)))
    .where(attempts.c.post_id == func.any(bindparam("post_ids", type_=ARRAY(Text))))
    .order_by(attempts.c.post_id, attempts.c.number)
)


class Attempts:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def of_posts(self, post_ids: Collection[str]) -> dict[str, list[AttemptRow]]:
        """Returns the attempts of each post, oldest first."""
        found: dict[str, list[AttemptRow]] = {post_id: [] for post_id in post_ids}
        for row in self._connection.execute(_OF_POSTS, {"post_ids": list(post_ids)}).mappings():
            found[row["post_id"]].append(AttemptRow.of(row))
        return found
