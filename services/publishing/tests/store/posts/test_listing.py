"""What a list of scheduled posts costs: what it shows, however long the account's history is."""

from typing import Any

import pytest
from publishing_kit.world import World
from sqlalchemy import text

from contracts import publishing as api
from publishing.posts import post_lists
from publishing.rules.filters import STATUSES
from publishing.store.lists import Lists

#: Posts that have ended, long before those that are queued.
HISTORY = 6_000
#: What earlier transactions fetched may be in it until it is flushed: a difference counts.
_FETCHED = text("SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'posts'")


@pytest.fixture
def queued(world: World) -> list[str]:
    """Ids of an account's queued posts, soonest first, behind a long history."""
    page = world.page()
    posts = world.fill(page, 3)
    world.run(
        """
        INSERT INTO posts (id, account_id, brand_id, page_id, platform, origin, media_ids, media_urls, created_at,
            scheduled_at, state, out_at)
        SELECT 'pst_' || n, 'usr_a', 'brd_a', :page, 'FB', 'scheduled', '{}', '{}', clock_now(), at, state,
            CASE state WHEN 'published' THEN at END
        FROM (SELECT n, clock_now() - make_interval(mins => n) AS at,
            (ARRAY['published', 'published', 'cancelled', 'failed'])[1 + n % 4] AS state
            FROM generate_series(1, :count) AS n) AS made
        """,
        page=page.id,
        count=HISTORY,
    )
    world.run("ANALYZE posts")
    return [post.id for post in posts]


@pytest.mark.parametrize("statuses", [("queued",), ("failed",), ("queued", "failed"), STATUSES])
@pytest.mark.parametrize("after", [None, "the first"])
def test_a_list_reads_what_it_shows(
    world: World, queued: list[str], statuses: tuple[str, ...], after: str | None
) -> None:
    with world.database.transaction() as connection:
        given: dict[str, Any] = {"brand_ids": None, "page_id": None, "statuses": statuses, "limit": 51}
        before = connection.execute(_FETCHED).scalar_one()
        found = Lists(connection).scheduled("usr_a", after=None, **given)
        if after is not None:
            last = (found[0].scheduled_at, found[0].id)
            assert Lists(connection).scheduled("usr_a", after=last, **given)[:50] == found[1:]
        read = connection.execute(_FETCHED).scalar_one() - before
    assert found == sorted(found, key=lambda post: (post.scheduled_at, post.id))
    assert read < 700


def test_a_list_of_several_states_is_one_list(world: World, queued: list[str]) -> None:
    world.run("UPDATE posts SET state = 'sending' WHERE id = :id", id=queued[1])
    world.run("UPDATE posts SET state = 'unknown' WHERE id = :id", id=queued[2])
    shown = post_lists.scheduled(world.app, world.caller(), api.ListScheduledPosts(limit=2))
    assert [post.id for post in shown.scheduled_posts] == queued[:2]
    rest = api.ListScheduledPosts(limit=2, cursor=shown.next_cursor)
    assert [
        post.id for post in post_lists.scheduled(world.app, world.caller(), rest).scheduled_posts
    ] == queued[2:]
    everything = api.ListScheduledPosts(limit=100, status="all")
    found = post_lists.scheduled(world.app, world.caller(), everything).scheduled_posts
    assert [post.id for post in found] == [f"pst_{n}" for n in range(HISTORY, HISTORY - 100, -1)]
