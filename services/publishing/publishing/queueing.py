"""Scheduled posts are stored here: guardrails and row in one transaction, shared by those that come at one moment."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from chassis.database import Database
from contracts.errors import POST_IN_PROGRESS, ApiError
from publishing import limiting, telling
from publishing.records import PageRow, Post
from publishing.store import Connection
from publishing.store.posts import COUNTED_FOR_SCHEDULE, Posts, Spot


class Wanted(NamedTuple):
    """A post to be queued: its page, and its row as `posts.new_post` makes it."""

    page: PageRow
    row: dict[str, Any]

    @property
    def spot(self) -> Spot:
        return Spot(self.page.id, self.page.brand_id, self.row["scheduled_at"], self.row["operation_id"])


def queue_all(database: Database, wanted: list[Wanted]) -> list[Post | ApiError]:
    """The stored posts in order, or what their operations had made already; or the guardrail that is in the way.

    POST_IN_PROGRESS: the same operation makes a post of another brand at this moment. Raises SERVICE_UNAVAILABLE.
    """
    answers: dict[str, Post | ApiError] = {}
    with database.transaction() as connection:
        for turn in _turns(wanted):
            answers |= _queue(connection, turn)
    return [answers[one.row["id"]] for one in wanted]


def _turns(wanted: list[Wanted]) -> Iterator[list[Wanted]]:
    """One post of each brand at a time: the next one is judged with it stored. The first turn has all the brands."""
    while wanted:
        turn = {one.page.brand_id: one for one in reversed(wanted)}
        yield list(turn.values())
        wanted = [one for one in wanted if turn[one.page.brand_id] is not one]


def _queue(connection: Connection, wanted: list[Wanted]) -> dict[str, Post | ApiError]:
    """Answers by the ids that the posts were to have."""
    store = Posts(connection)
    answers: dict[str, Post | ApiError] = {}
    rows: list[dict[str, Any]] = []
    around = store.lock_around([one.spot for one in wanted], states=COUNTED_FOR_SCHEDULE)
    for one, near in zip(wanted, around, strict=True):
        if near.repeated_id is not None:
            made = store.get(near.repeated_id)
            assert made is not None
            answers[one.row["id"]] = made
        elif breach := limiting.breach_near(store, one.page, one.spot, near):
            answers[one.row["id"]] = limiting.refusal(breach, one.spot.at)
        else:
            answers[one.row["id"]] = ApiError(POST_IN_PROGRESS)
            rows.append(one.row)
    added = store.add_all(rows)
    telling.tell_media(connection, *(post for post in added.values() if post.media_ids))
    return answers | added
