"""Statements read only the rows that they show or change, however many others the tables hold.

The tests count the rows that statements fetch, with little data and with much. They measure no time.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from publishing_kit.world import World
from sqlalchemy import text

from publishing.posts import activity
from publishing.records import Post
from publishing.store.lists import Lists
from publishing.store.pages import Pages
from publishing.store.polls import Polls
from publishing.store.posts import Posts
from publishing.store.reconciliation import Reconciliation, UnknownOutcome

#: Posts of the page with the long history, and of the account beside it.
HISTORY = 20_000
PAGES = 2_000

STATUSES = ("queued", "published", "failed", "cancelled")
VISITED_AT = datetime(2026, 11, 20, tzinfo=UTC)

_FETCHED = text("SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables")
_FILL_POSTS = """
    INSERT INTO posts (id, account_id, brand_id, page_id, platform, origin, message, media_ids, media_urls, created_at,
        scheduled_at, state, out_at, remote_id, commented_at, refused_at)
    SELECT :prefix || lpad(n::text, 8, '0'), 'usr_a', :brand, :page, :platform, 'scheduled', 'hello', '{}', '{}', at,
        at, state, CASE state WHEN 'published' THEN at WHEN 'queued' THEN at + interval '100 days' END,
        CASE state WHEN 'published' THEN :prefix || n END,
        CASE WHEN state = 'published' AND n % 2 = 1 THEN at + interval '1 hour' END,
        CASE state WHEN 'failed' THEN at END
    FROM (SELECT n, clock_now() - make_interval(mins => n) AS at,
        (ARRAY['published', 'published', 'published', 'cancelled', 'failed', 'queued'])[1 + n % 6] AS state
        FROM generate_series(1, :count) AS n) AS made
"""
_FILL_PAGES = """
    INSERT INTO pages (id, account_id, brand_id, brand_name, platform, remote_account_id, access_token, name, followers,
        created_at)
    SELECT 'pge_' || n, 'usr_a', 'brd_' || n % 3, 'Brand', (ARRAY['IG', 'LN'])[1 + n % 2], 'r' || n, 't', 'Page', 0,
        clock_now() - make_interval(mins => n)
    FROM generate_series(1, :count) AS n
"""


class Measured:
    """An old and a young page with few posts. `fill` adds many posts and pages."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.old, self.young = world.page("FB", "brd_old"), world.page("TT", "brd_young")
        for page, prefix in ((self.old, "pst_old"), (self.young, "pst_new")):
            self.posts(page, prefix, 12)
        world.run(
            "INSERT INTO comment_polls SELECT id, page_id, clock_timestamp() FROM posts WHERE state = 'published'"
        )
        world.run("ANALYZE")

    def posts(self, page: Any, prefix: str, count: int) -> None:
        values = {"page": page.id, "brand": page.brand_id, "platform": page.platform, "prefix": prefix}
        self.world.run(_FILL_POSTS, count=count, **values)

    def fill(self) -> None:
        """Adds a long history to the old page, and many pages to the account."""
        self.posts(self.old, "pst_", HISTORY)
        self.world.run(_FILL_PAGES, count=PAGES)
        self.world.run(
            "INSERT INTO comment_polls SELECT id, page_id, clock_timestamp() FROM posts WHERE state = 'published'"
            " ON CONFLICT DO NOTHING"
        )
        self.world.run("ANALYZE posts, pages, comment_polls")

    def post(self, connection: Any) -> Post:
        """Returns the oldest post of the old page."""
        found = Posts(connection).get("pst_old00000012")
        assert found is not None
        return found

    def cost(self, call: Callable[[Any], Any]) -> int:
        """Returns how many rows the call's statements fetch."""
        with self.world.database.transaction() as connection:
            before = connection.execute(
                _FETCHED
            ).scalar_one()  # earlier transactions that are not flushed yet count too
            call(connection)
            fetched = connection.execute(_FETCHED).scalar_one() - before
            connection.rollback()
        return int(fetched)


@pytest.fixture
def measured(world: World) -> Measured:
    return Measured(world)


def of_account(**given: Any) -> dict[str, Any]:
    return {"brand_ids": None, "page_id": None, "limit": 26} | given


CALLS: dict[str, Callable[[Any, Measured], Any]] = {
    "published": lambda c, m: Lists(c).published(
        "usr_a", **of_account(platform=None, since=None, before=None)
    ),
    "published of a platform": lambda c, m: Lists(c).published(
        "usr_a", **of_account(platform="TT", since=None, before=None)
    ),
    "published of a page": lambda c, m: Lists(c).published(
        "usr_a", **of_account(platform=None, since=None, before=None, page_id=m.old.id)
    ),
    "published of a brand": lambda c, m: Lists(c).published(
        "usr_a", **of_account(platform=None, since=None, before=None, brand_ids=("brd_young",))
    ),
    "published of a brand and platform": lambda c, m: Lists(c).published(
        "usr_a", **of_account(platform="TT", since=None, before=None, brand_ids=("brd_young", "brd_old"))
    ),
    "scheduled": lambda c, m: Lists(c).scheduled("usr_a", **of_account(statuses=("queued",), after=None)),
    "scheduled, all of a page": lambda c, m: Lists(c).scheduled(
        "usr_a", **of_account(statuses=STATUSES, after=None, page_id=m.young.id)
    ),
    "scheduled, all of a brand": lambda c, m: Lists(c).scheduled(
        "usr_a", **of_account(statuses=STATUSES, after=None, brand_ids=("brd_young",))
    ),
    "scheduled, counted": lambda c, m: Lists(c).scheduled_counts(
        "usr_a", most=26, brand_ids=None, page_id=None
    ),
    "published with comments": lambda c, m: Lists(c).published(
        "usr_a", **of_account(platform=None, with_comments=True, since=None, before=None)
    ),
    "published by activity": lambda c, m: activity.listed(
        Lists(c), "usr_a", **of_account(platform=None, with_comments=True, before=None)
    ),
    "published by activity, of a page": lambda c, m: activity.listed(
        Lists(c), "usr_a", **of_account(platform=None, before=None, page_id=m.old.id)
    ),
    "published by activity, of a brand": lambda c, m: activity.listed(
        Lists(c), "usr_a", **of_account(platform=None, before=None, brand_ids=("brd_old",))
    ),
    "posts by their ids": lambda c, m: Posts(c).many([f"pst_old0000000{n}" for n in range(1, 10)]),
    "pages": lambda c, m: Pages(c).newest("usr_a", brand_ids=None, platform=None, after=None, limit=26),
    "pages of a platform": lambda c, m: Pages(c).newest(
        "usr_a", brand_ids=None, platform="FB", after=None, limit=26
    ),
    "pages of a brand": lambda c, m: Pages(c).newest(
        "usr_a", brand_ids=("brd_old",), platform=None, after=None, limit=26
    ),
    "last refusals": lambda c, m: Pages(c).last_refusals([m.old.id, m.young.id]),
    "what is known of a page": lambda c, m: Reconciliation(c).remote_ids_of_others(
        UnknownOutcome(m.post(c), 0.0, m.world.now())
    ),
    "open posts of a page": lambda c, m: Reconciliation(c).open_others(
        UnknownOutcome(m.post(c), 0.0, VISITED_AT)
    ),
    "posts that an unlink cancels": lambda c, m: Posts(c).pending_of_page(m.young.id),
    "posts that an unlink has cancelled": lambda c, m: Posts(c).cancel_queued_of_page(m.young.id),
    "polls that an unlink ends": lambda c, m: Polls(c).end_page(m.young.id),
    "polls that a link wakes": lambda c, m: Polls(c).wake_page(m.young.id),
}
#: Rows of each call at most; a look-up knows what its page published in two days, here a post a minute.
MOST = {"what is known of a page": 3_000}


@pytest.mark.parametrize("name", CALLS)
def test_what_is_read_does_not_grow_with_what_lies_beside_it(measured: Measured, name: str) -> None:
    measured.cost(lambda connection: CALLS[name](connection, measured))  # what is prepared once
    before = measured.cost(lambda connection: CALLS[name](connection, measured))
    measured.fill()
    after = measured.cost(lambda connection: CALLS[name](connection, measured))
    assert after <= max(before, MOST.get(name, 400))


def test_the_open_posts_of_a_page_are_those_that_are_not_told_yet(measured: Measured, world: World) -> None:
    measured.fill()
    world.run(
        "UPDATE posts SET state = 'unknown', remote_id = NULL WHERE id IN ('pst_00000012', 'pst_00000018')"
    )
    world.run("UPDATE posts SET state = 'sending', remote_id = NULL WHERE id = 'pst_00000024'")
    with world.database.reading() as connection:
        look = UnknownOutcome(measured.post(connection), 0.0, VISITED_AT)
        found = {other.post.id for other in Reconciliation(connection).open_others(look)}
    assert found == {"pst_00000012", "pst_00000018", "pst_00000024"}
