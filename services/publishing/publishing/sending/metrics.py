"""Metrics of sending posts. Names and labels: docs/observability.md."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from chassis.db.database import Database
from chassis.runtime import gauges
from chassis.telemetry.metrics import WAIT_SECONDS, Counter, Gauge, Histogram
from publishing.records import Post
from publishing.store.page_queues import MOST_COUNTED, DueQueue, PageQueues

LATENESS = Histogram(
    "posthaste.publish.lateness",
    "s",
    "Time between an attempt being due and a worker claiming it, by platform.",
    WAIT_SECONDS,
)
OUTCOMES = Counter(
    "posthaste.publish.attempts",
    "{attempt}",
    "Attempts that ended, by platform and the next state of the post.",
)
BACKLOG = Gauge(
    "posthaste.publish.backlog",
    "{post}",
    f"Posts that are due and wait for a worker; {MOST_COUNTED} stands for more.",
)
OLDEST = Gauge(
    "posthaste.publish.backlog.age", "s", "How long the post that has waited longest has been due."
)


def note_taken(due: Sequence[DueQueue], taken: Iterable[Post], now: datetime) -> None:
    """Records how late the posts are that a worker has just claimed."""
    due_at: Mapping[str, datetime] = {post_id: at for queue in due for post_id, at in queue.due}
    for post in taken:
        LATENESS.record((now - due_at[post.id]).total_seconds(), {"platform": post.platform})


def note_ended(posts: Iterable[Post]) -> None:
    """Counts the ended attempts by the next state of their post."""
    for post in posts:
        OUTCOMES.add(1, {"platform": post.platform, "outcome": post.state})


def watch_backlog(database: Database) -> None:
    def look() -> tuple[int, float]:
        with database.reading() as connection:
            return PageQueues(connection).backlog()

    gauges.watch_backlog(BACKLOG, OLDEST, look)
