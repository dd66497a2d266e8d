"""Scheduling and validating posts on a real database."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from publishing_kit.refusals import refused
from publishing_kit.world import World

from contracts import publishing as api
from contracts.caller import Caller, operator
from contracts.errors import ApiError
from publishing.pages import linked_pages
from publishing.posts import (
    cancellation,
    reading,
    schedule,
    validation,
)
from publishing.sending.context import SendingContext
from publishing.store.posts import Posts


def test_a_scheduled_post_reads_back_as_it_was_made(world: World, app: SendingContext) -> None:
    page, at = world.page(), world.in_minutes(11)
    made = world.schedule(
        page,
        at,
        media_urls=("https://example.com/a.mp4",),
        first_comment="first",
        facebook_settings={"is_ai_generated": True},
    )
    shown = reading.show(app, world.caller(), api.PostId(id=made.id))
    assert shown == made
    assert (shown.status, shown.scheduled_at, shown.next_attempt_at) == ("queued", at, at)
    assert shown.media == (api.MediaItem(src="https://example.com/a.mp4", type="video"),)
    assert shown.facebook_settings == {"is_ai_generated": True}


def test_an_operation_that_has_just_made_another_brand_s_post_makes_none(
    world: World, app: SendingContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, caller = world.in_minutes(11), world.caller("op_1")
    here, elsewhere = (
        api.SchedulePost(page_id=world.page(brand=brand).id, scheduled_at=at, message="hi")
        for brand in ("a", "b")
    )
    look = Posts.lock_around

    def overtaken(*args: Any, **named: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(Posts, "lock_around", look)
            made.append(schedule.schedule(app, caller, here))
        return look(*args, **named)

    made: list[api.ScheduledPost] = []
    with monkeypatch.context() as patch:
        patch.setattr(Posts, "lock_around", overtaken)
        assert schedule.schedule(app, caller, elsewhere) == made[0]
    assert [row.id for row in world.ask("SELECT id FROM posts")] == [made[0].id]


def test_the_same_operation_gets_the_post_it_made(world: World, app: SendingContext) -> None:
    caller = world.caller("op_1")
    request = api.SchedulePost(page_id=world.page().id, scheduled_at=world.in_minutes(11), message="hi")
    first = schedule.schedule(app, caller, request)
    world.shift(3600)  # by now the time itself would be refused
    assert schedule.schedule(app, caller, request) == first


def test_fifty_times_the_same_operation_at_once_make_one_post(world: World, app: SendingContext) -> None:
    request = api.SchedulePost(page_id=world.page().id, scheduled_at=world.in_minutes(11), message="hi")
    with ThreadPoolExecutor(12) as pool:
        made = list(pool.map(lambda _: schedule.schedule(app, world.caller("op_1"), request).id, range(50)))
    assert len(set(made)) == 1


def test_a_call_for_another_account_s_page_is_refused_without_waiting_for_its_brand(
    world: World, app: SendingContext
) -> None:
    page = world.page()
    request = api.SchedulePost(page_id=page.id, scheduled_at=world.in_minutes(11), message="hi")
    stranger = msgspec.structs.replace(world.caller("op_1"), account_id="usr_other", user_id="usr_other")
    with world.database.transaction() as connection:
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock(hashtextextended('{page.brand_id}', 0))")
        with ThreadPoolExecutor(1) as pool:
            error = pool.submit(refused, schedule.schedule, app, stranger, request).result(30)
    assert error.code == "NOT_FOUND"


def test_a_schedule_waits_for_whoever_holds_the_platform_s_page(world: World, app: SendingContext) -> None:
    page = world.page(remote="remote_1")
    waits = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'advisory' AND datname = current_database()"
    name = "FB:remote_1"
    with ThreadPoolExecutor(1) as pool:
        with world.database.transaction() as connection:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock(hashtextextended('{name}', 2))")
            waiting = pool.submit(world.schedule, page, world.in_minutes(11))
            while not world.ask(waits):
                assert not waiting.done()
        assert waiting.result(30).status == "queued"


@pytest.mark.parametrize("at", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC)])
def test_the_ends_of_the_calendar_are_out_of_range(world: World, app: SendingContext, at: datetime) -> None:
    page = world.page()
    assert refused(world.schedule, page, at).code == "SCHEDULE_OUT_OF_RANGE"
    request = api.ValidatePost(page_id=page.id, scheduled_at=at, message="hi")
    [finding] = validation.validate(app, world.caller(), request).errors
    assert finding.code == "SCHEDULE_OUT_OF_RANGE"


@pytest.mark.parametrize("minutes", [9.9, 75 * 24 * 60 + 1, -5])
def test_a_time_out_of_range_is_refused_with_the_range(
    world: World, app: SendingContext, minutes: float
) -> None:
    error = refused(world.schedule, world.page(), world.in_minutes(minutes))
    assert error.code == "SCHEDULE_OUT_OF_RANGE"
    assert error.extras["earliest"].endswith("Z")
    assert error.extras["earliest"] < error.extras["latest"]


@pytest.mark.parametrize(
    "at", [datetime(9999, 12, 31, 23, 59, tzinfo=timezone(-timedelta(hours=2))), datetime(2026, 1, 1)]
)
def test_times_beyond_the_calendar_or_without_a_zone_are_no_dates(world: World, at: datetime) -> None:
    assert refused(world.schedule, world.page(), at).code == "INVALID_DATE"


def test_a_far_but_possible_time_is_out_of_range(world: World) -> None:
    error = refused(world.schedule, world.page(), datetime(9999, 1, 1, tzinfo=UTC))
    assert error.code == "SCHEDULE_OUT_OF_RANGE"


def test_posts_of_a_page_keep_a_minute_apart(world: World) -> None:
    page, at = world.page(), world.in_minutes(20)
    world.schedule(page, at)
    error = refused(world.schedule, page, at - timedelta(seconds=59))
    assert error.code == "PAGE_PUBLISH_GUARDRAIL"
    assert error.extras["retry_after_seconds"] == 119
    assert datetime.fromisoformat(error.extras["next_allowed_at"]) == at + timedelta(seconds=60)
    assert error.message.endswith(f"The next free time is {error.extras['next_allowed_at']}.")
    world.schedule(page, at + timedelta(seconds=60))


def test_the_hour_of_a_page_is_full_after_its_cap(world: World) -> None:
    page = world.page("LN")
    made = [world.schedule(page, world.in_minutes(20 + n)) for n in range(3)]
    error = refused(world.schedule, page, world.in_minutes(50))
    assert error.code == "PAGE_PUBLISH_GUARDRAIL"
    next_allowed_at = datetime.fromisoformat(error.extras["next_allowed_at"])
    assert next_allowed_at == made[0].scheduled_at + timedelta(hours=1)
    world.schedule(page, next_allowed_at)


def test_the_suggested_time_fits_even_if_it_depends_on_a_part_of_a_millisecond(world: World) -> None:
    page, at = world.page("LN"), world.in_minutes(20)
    for n in range(3):
        world.schedule(page, at + timedelta(minutes=n))
    world.run("UPDATE posts SET out_at = out_at + interval '345 microseconds'")
    error = refused(world.schedule, page, at + timedelta(minutes=30))
    next_allowed_at = datetime.fromisoformat(error.extras["next_allowed_at"])
    assert next_allowed_at == at + timedelta(hours=1, milliseconds=1)
    world.schedule(page, next_allowed_at)


def test_the_brand_is_full_after_500_posts_of_all_its_pages(world: World, app: SendingContext) -> None:
    page = world.page("YT", brand="brd_full")
    at = world.in_minutes(600)
    world.run(
        "INSERT INTO posts (id, account_id, brand_id, page_id, platform, origin, media_ids, media_urls, created_at,"
        " scheduled_at, state, out_at) SELECT 'pst_' || n, 'usr_a', 'brd_full', :page, 'YT', 'scheduled', '{}', '{}',"
        " clock_now(), t, 'queued', t FROM (SELECT n, CAST(:at AS timestamptz) - make_interval(mins => n) AS t"
        " FROM generate_series(1, 500) n) s",
        page=page.id,
        at=at,
    )
    other = world.page("YT", brand="brd_full")
    error = refused(world.schedule, other, at + timedelta(minutes=1), "hi")
    assert error.code == "UNSUPPORTED_PLATFORM"  # what the page cannot take comes first
    video = {"message": "hi", "media_urls": ("https://example.com/a.mp4",)}
    request = api.SchedulePost(page_id=other.id, scheduled_at=at + timedelta(minutes=1), **video)
    error = refused(schedule.schedule, app, world.caller(), request)
    assert error.code == "BRAND_PUBLISH_GUARDRAIL"
    assert datetime.fromisoformat(error.extras["next_allowed_at"]) == at - timedelta(minutes=500) + timedelta(
        days=1
    )


def test_fifty_schedules_at_once_never_break_a_rule(world: World) -> None:
    page, start = world.page(), world.in_minutes(20)

    def attempt(n: int) -> str:
        try:
            return str(world.schedule(page, start + timedelta(seconds=20 * n)).id)
        except ApiError as error:
            return error.code

    with ThreadPoolExecutor(12) as pool:
        results = list(pool.map(attempt, range(50)))
    assert {result for result in results if not result.startswith("pst_")} == {"PAGE_PUBLISH_GUARDRAIL"}
    times = [row.out_at for row in world.ask("SELECT out_at FROM posts ORDER BY out_at")]
    gaps = [later - sooner for sooner, later in pairwise(times)]
    assert min(gaps) >= timedelta(seconds=60)
    assert 2 <= len(times) <= 10


def test_an_expired_page_takes_no_posts(world: World) -> None:
    page = world.page()
    world.run("UPDATE pages SET expired = true")
    error = refused(world.schedule, page, world.in_minutes(11))
    assert (error.code, error.extras["page_id"]) == ("PAGE_EXPIRED", page.id)
    assert page.id in error.extras["reconnect_url"]


def test_pages_and_posts_of_others_are_not_there(world: World, app: SendingContext) -> None:
    page = world.page()
    post = world.schedule(page, world.in_minutes(11))
    stranger = Caller(account_id="usr_b", user_id="usr_b")
    request = api.SchedulePost(page_id=page.id, scheduled_at=world.in_minutes(30), message="hi")
    error = refused(schedule.schedule, app, stranger, request)
    assert (error.code, error.extras) == ("NOT_FOUND", {"field": "page_id"})
    assert refused(reading.show, app, stranger, api.PostId(id=post.id)).code == "NOT_FOUND"
    assert refused(reading.show, app, stranger, api.PostId(id="pst_\0")).code == "NOT_FOUND"
    narrow = Caller(account_id="usr_a", user_id="usr_a", brand_ids=("brd_other",))
    assert refused(cancellation.cancel, app, narrow, api.PostId(id=post.id)).code == "BRAND_NOT_AUTHORIZED"


def test_validate_lists_all_errors_at_once_and_stores_nothing(world: World, app: SendingContext) -> None:
    page = world.page("IG")
    request = api.ValidatePost(
        page_id=page.id, message="a" * 2_300, tiktok_settings={}, scheduled_at=world.in_minutes(1)
    )
    found = validation.validate(app, world.caller(), request)
    assert not found.valid
    assert {finding.code for finding in found.errors} == {
        "SCHEDULE_OUT_OF_RANGE",
        "VALIDATION_ERROR",
        "UNSUPPORTED_PLATFORM",
    }
    assert {finding.field for finding in found.errors} >= {"scheduled_at", "tiktok_settings", "message"}
    good = api.ValidatePost(page_id=page.id, media_urls=("https://example.com/a.jpg",))
    assert validation.validate(app, world.caller(), good) == api.Validation(valid=True)
    assert world.ask("SELECT * FROM posts") == []
    unknown = api.ValidatePost(page_id="pag_unknown", message="hi")
    assert refused(validation.validate, app, world.caller(), unknown).code == "NOT_FOUND"


def test_linking_a_page_again_repairs_it(world: World, app: SendingContext) -> None:
    page = world.page()
    world.run("UPDATE pages SET expired = true")
    request = api.LinkPage(
        owner_account_id="usr_a",
        brand_id="brd_a",
        brand_name="Brand",
        platform="fb",
        remote_account_id=page.account_id,
        access_token="new token",
        name="New name",
    )
    again = linked_pages.link(app, operator(), request)
    assert (again.id, again.name, again.expired, again.created_at) == (
        page.id,
        "New name",
        False,
        page.created_at,
    )
    assert "new token" not in world.ask("SELECT access_token FROM pages")[0].access_token
    assert refused(linked_pages.link, app, world.caller(), request).code == "MISSING_SCOPE"
