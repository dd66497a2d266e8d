"""SQL of the test posts that `posthaste platform check --post` makes on linked pages. A page has at most one test post,
until it is removed. Times are in real time."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from publishing.models import trial_posts
from publishing.records import Row


class TrialPost(Row):
    """A test post that `posthaste platform check --post` makes on a page: a row of the table. `models.trial_posts`
    explains the columns."""

    page_id: str
    text: str
    began_at: datetime
    checkpoint: dict[str, Any] | None
    remote_id: str | None


class TrialPosts:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, page_id: str) -> tuple[TrialPost, float] | None:
        """Returns the page's test post (of `platform check --post`) and its age in seconds; None if it has none."""
        age = func.extract("epoch", func.clock_timestamp() - trial_posts.c.began_at).label("age")
        statement = select(trial_posts, age).where(trial_posts.c.page_id == page_id)
        row = self._connection.execute(statement).mappings().first()
        return (TrialPost.of(row), float(row["age"])) if row else None

    def begin(self, page_id: str, text: str) -> bool:
        """Stores that a test post (of `platform check --post`) is being made on the page. Returns False if the page has
        one already."""
        statement = insert(trial_posts).values(page_id=page_id, text=text).on_conflict_do_nothing()
        return self._connection.execute(statement).rowcount == 1

    def save(self, page_id: str, text: str, **values: Any) -> None:
        """Stores column values, such as checkpoint or remote id, of the test post that `platform check --post` has made
        on the page with this text."""
        self._connection.execute(update(trial_posts).where(*_of(page_id, text)).values(**values))

    def forget(self, page_id: str, text: str) -> None:
        self._connection.execute(delete(trial_posts).where(*_of(page_id, text)))


def _of(page_id: str, text: str) -> tuple[Any, Any]:
    return trial_posts.c.page_id == page_id, trial_posts.c.text == text
