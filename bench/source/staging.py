"""Stages `post.failed` events as publishing does."""

from datetime import UTC, datetime

from chassis.bus.outbox import Staging, stage_all
from chassis.db.database import Database
from contracts.events import PostFailed
from contracts.publishing import PostError, ScheduledPost

_POST = ScheduledPost(
    id="pst_bench",
    page_id="pag_bench",
    brand_id="brd_bench",
    platform="FB",
    message="Fresh rye from seven o'clock. " * 10,
    media=(),
    scheduled_at=datetime(2026, 1, 1, tzinfo=UTC),
    status="failed",
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
)


def stage(database: Database, account_ids: tuple[str, ...], count: int) -> tuple[str, ...]:
    """Stages `count` events for each account in one transaction. Returns their ids after the commit."""
    error = PostError(code="PLATFORM_REJECTED", message="The platform rejected the request.")
    stagings = [
        Staging(
            "post.failed",
            PostFailed(user_id=account_id, brand_id="brd_bench", post=_POST, error=error, attempts=4),
            account_id,
            "brd_bench",
        )
        for account_id in account_ids
        for _ in range(count)
    ]
    with database.transaction() as connection:
        return tuple(event.id for event in stage_all(connection, stagings))
