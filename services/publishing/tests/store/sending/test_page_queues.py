"""Which pages' due posts are sent next: no page waits for another brand's lock, and a backlog does not make a claim
slower.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World
from sqlalchemy import event

from chassis.db.database import Database
from contracts import publishing as api
from publishing.posts import validation
from publishing.sending import due_posts
from publishing.sending.context import SendingContext
from publishing.store.page_queues import MOST_COUNTED, PageQueues

#: Pages and queued posts of a brand, each post due a number of seconds after the one before.
_FILL = """
    WITH made AS (
        INSERT INTO pages (id, account_id, brand_id, brand_name, platform, remote_account_id, access_token, name,
            followers, created_at)
        SELECT :brand || '_' || n, 'usr_a', :brand, 'Brand', 'FB', :brand || n, '', 'Page', 0, clock_now()
        FROM generate_series(1, :pages) AS n RETURNING id)
    INSERT INTO posts (id, account_id, brand_id, page_id, platform, origin, media_ids, media_urls, message, created_at,
        scheduled_at, state, out_at)
    SELECT id || '_' || n, 'usr_a', :brand, id, 'FB', 'scheduled', '{}', '{}', id, clock_now(),
        clock_now() - make_interval(secs => :age) + n * interval '1 minute', :state,
        clock_now() - make_interval(secs => :age) + n * interval '1 minute'
    FROM made, generate_series(1, :posts) AS n
    """


def fill(
    world: World, brand: str, pages: int, age_seconds: float, posts: int = 1, state: str = "queued"
) -> None:
    world.run(_FILL, brand=brand, pages=pages, posts=posts, age=age_seconds, state=state)


@contextmanager
def locked(database: Database, brand: str) -> Iterator[None]:
    """Holds the brand's lock during the block."""
    with database.transaction() as connection:
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock(hashtextextended('{brand}', 0))")
        yield


def lanes_are_free(app: SendingContext) -> bool:
    return app.page_queues.wait_idle(10)


def test_a_locked_brand_with_a_thousand_due_pages_in_front_delays_nobody(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    fill(world, "brd_agency", pages=1000, age_seconds=7200)
    page = world.page(brand="brd_b")
    world.schedule(page, world.in_minutes(11), "of brand b")
    world.shift(660)
    with locked(world.database, "brd_agency"):
        assert due_posts.publish_due_posts(app) == 1
        assert lanes_are_free(app)
        assert platform.messages == ["of brand b"]
        assert app.brands.wait_idle(5)  # waits for the lock no longer than that
    assert world.ask("SELECT id FROM posts WHERE brand_id = 'brd_agency' AND state <> 'queued'") == []


def test_a_brand_whose_lock_is_free_again_is_claimed_by_itself(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    page = world.page()
    world.schedule(page, world.in_minutes(11), "late")
    world.shift(660)
    with locked(world.database, page.brand_id):
        assert due_posts.publish_due_posts(app) == 0
        waiting = (
            "SELECT pid FROM pg_stat_activity WHERE wait_event = 'advisory' AND datname = current_database()"
        )
        while not world.ask(waiting):
            assert not app.brands.wait_idle(0)
    assert app.brands.wait_idle(5)
    assert lanes_are_free(app)
    assert platform.messages == ["late"]


def test_a_locked_brand_is_not_claimed_while_all_places_are_taken(world: World, app: SendingContext) -> None:
    page = world.page()
    post = world.schedule(page, world.in_minutes(11), "late")
    world.shift(660)
    go_on = threading.Event()
    with locked(world.database, page.brand_id):
        assert due_posts.publish_due_posts(app) == 0
        for _ in range(app.page_queues.size):
            app.page_queues.start(lambda: go_on.wait(20) and None)
    try:
        assert app.brands.wait_idle(5)
        assert due_posts.publish_due_posts(app) == 1  # it waited for a place
        assert world.state(post.id).state == "queued"
    finally:
        go_on.set()


def test_of_many_locked_brands_each_is_waited_for_in_turn(app: SendingContext) -> None:
    brands = {f"brd_{n}": [f"pag_{n}"] for n in range(6)}
    begun: list[str] = []
    for _ in range(3):
        turn = [brand for brand, _ in app.contended.in_turn(brands)][:4]
        for brand in turn:
            assert app.contended.begin(brand)
            assert not app.contended.begin(brand)
            app.contended.end(brand)
        begun += turn
    assert {begun.count(brand) for brand in brands} == {2}


@pytest.mark.parametrize("is_scheduled", [True, False])
def test_a_dry_run_waits_for_no_lock(world: World, app: SendingContext, is_scheduled: bool) -> None:
    page = world.page()
    request = api.ValidatePost(
        page_id=page.id, message="hello", scheduled_at=world.in_minutes(11) if is_scheduled else None
    )
    with locked(world.database, page.brand_id):
        assert validation.validate(app, world.caller(), request).valid


def blocks_read(world: World, count: int) -> int:
    """Returns how many blocks of the database one claim of due pages reads, from the plans of its statements."""
    statements: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, *rest: Any) -> None:
        statements.append((statement.removeprefix("BEGIN; "), parameters))

    with pytest.raises(ZeroDivisionError), world.database.transaction() as connection:
        event.listen(world.database.engine, "before_cursor_execute", note)
        queues = PageQueues(connection)
        due, _ = queues.lock_due(count, 10)
        assert len(due) == count
        queues.went_out_of_pages([queue.page.id for queue in due])
        queues.went_out_of_brands([queue.page.brand_id for queue in due])
        queues.backlog()
        event.remove(world.database.engine, "before_cursor_execute", note)
        assert len(statements) <= 9
        plans = [
            connection.exec_driver_sql(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", parameters)
            .scalar_one()[0]["Plan"]
            for statement, parameters in statements
        ]  # fmt: skip
        _ = 1 / 0
    return sum(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] for plan in plans)


def vacuum(world: World) -> None:
    with world.database.reading() as connection:
        connection.exec_driver_sql("VACUUM ANALYZE")


def test_a_claim_reads_no_more_with_fifty_times_the_backlog(world: World) -> None:
    for brand in range(40):
        fill(world, f"brd_small_{brand}", pages=10, age_seconds=7200, posts=3)
    vacuum(world)
    small = blocks_read(world, 48)
    for brand in range(40):
        fill(world, f"brd_large_{brand}", pages=500, age_seconds=3600, posts=3)
    vacuum(world)
    # An index with a level more costs a block for each page looked up: 1.3 to 1.5 times as many were seen.
    assert blocks_read(world, 48) <= 2 * small


def test_busy_pages_in_front_are_passed_over_without_reading_their_posts(world: World) -> None:
    """Three thousand busy pages have posts that are due for longer than those that are claimed."""
    for brand in range(40):
        fill(world, f"brd_free_{brand}", pages=50, age_seconds=3600, posts=3)
    vacuum(world)
    alone = blocks_read(world, 48)
    for brand in range(30):
        fill(world, f"brd_busy_{brand}", pages=100, age_seconds=9000, posts=3)
    world.run(
        "UPDATE posts SET state = 'sending' WHERE id IN (SELECT min(id) FROM posts WHERE brand_id LIKE 'brd_busy_%'"
        " GROUP BY page_id)"
    )
    vacuum(world)
    # One block for three busy pages: the index's with their due posts, and the table's with the ones on their way.
    assert blocks_read(world, 48) <= alone + 1000


def test_the_backlog_is_counted_up_to_a_bound(world: World) -> None:
    fill(world, "brd_b", pages=10, age_seconds=90_000, posts=MOST_COUNTED // 10 + 1)
    with world.database.reading() as connection:
        count, seconds = PageQueues(connection).backlog()
    assert count == MOST_COUNTED
    assert 89_000 < seconds < 90_000


def test_replicas_that_claim_at_the_same_moment_take_different_pages(world: World) -> None:
    fill(world, "brd_a", pages=10, age_seconds=7200)
    fill(world, "brd_b", pages=10, age_seconds=7200)
    with world.database.transaction() as one:
        first, _ = PageQueues(one).lock_due(4, 10)
        with world.database.transaction() as other:
            second, contended = PageQueues(other).lock_due(4, 10)
    assert len(first) == 4
    assert not {queue.page.id for queue in first} & {queue.page.id for queue in second}
    assert len(second) + sum(map(len, contended.values())) >= 4
