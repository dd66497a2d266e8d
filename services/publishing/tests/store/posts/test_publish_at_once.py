"""Publishing at once: answers, repeated requests, guardrails, and outcomes that become known later."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from contracts import publishing as api
from contracts.errors import ApiError
from publishing.platforms.base import OutcomeUnknown, PlatformRefusal, Refusal
from publishing.posts import publish_now, validation
from publishing.sending import due_posts, reconciliation
from publishing.sending.context import SendingContext


def send(
    world: World, page: api.Page, operation_id: str | None = None, message: str = "hello", try_number: int = 1
) -> Any:
    """Publishes at once. Returns the result or the error."""
    request = api.PublishPost(page_id=page.id, message=message)
    try:
        return publish_now.publish(world.app, world.caller(operation_id, try_number), request)
    except ApiError as error:
        return error


def test_a_repeat_of_a_published_operation_does_nothing(world: World, platform: FakePlatform) -> None:
    page = world.page()
    first, again = send(world, page, "op"), send(world, page, "op")
    assert (first.post_id, first.platform_post_id) == (again.post_id, again.platform_post_id)
    assert len(platform.posts) == 1
    assert world.events() == []


def test_fifty_times_the_same_operation_at_once_publish_once(world: World, platform: FakePlatform) -> None:
    page = world.page()
    with ThreadPoolExecutor(12) as pool:
        results = list(pool.map(lambda _: send(world, page, "op"), range(50)))
    assert len(platform.posts) == 1
    for result in results:
        assert getattr(result, "code", "POST_IN_PROGRESS") == "POST_IN_PROGRESS"
    assert len({getattr(r, "post_id", None) or r.extras["post_id"] for r in results}) == 1


def test_a_refused_post_stays_failed_and_its_operation_may_run_again(
    world: World, platform: FakePlatform
) -> None:
    page = world.page()
    platform.script = [PlatformRefusal(Refusal.TRANSIENT, "2", "busy")]
    error = send(world, page, "op")
    assert (error.code, error.extras["platform"]) == ("PLATFORM_REJECTED", "FB")
    assert error.extras["platform_error"] == {"code": "2", "message": "busy", "retryable": True}
    [row] = world.ask("SELECT * FROM posts")
    assert (row.state, row.attempts) == ("failed", 1)
    assert due_posts.publish_due_posts(world.app) == 0
    result = send(world, page, "op", try_number=2)
    assert result.post_id == row.id
    assert len(platform.posts) == 1


def test_an_expired_connection_is_told_and_remembered(world: World, platform: FakePlatform) -> None:
    page = world.page()
    platform.script = [PlatformRefusal(Refusal.EXPIRED, "190", "expired")]
    assert send(world, page).code == "PAGE_EXPIRED"
    assert send(world, page).code == "PAGE_EXPIRED"
    assert platform.posts == []
    assert len(world.ask("SELECT * FROM attempts")) == 1
    [row] = world.ask("SELECT error_message FROM posts")
    assert row.error_message == "expired (190). Reconnect the page, then publish it again."


def test_an_unknown_outcome_is_found_published_later_and_told(world: World, platform: FakePlatform) -> None:
    page = world.page()
    platform.script = [platform.keep(OutcomeUnknown("dropped"))]
    error = send(world, page, "op")
    assert error.code == "PLATFORM_OUTCOME_UNKNOWN"
    running = send(world, page, "op")
    assert (running.code, running.extras) == ("POST_IN_PROGRESS", {"post_id": error.extras["post_id"]})
    world.look()
    assert send(world, page, "op").post_id == error.extras["post_id"]
    assert len(platform.posts) == 1
    assert world.events() == ["post.published"]


def test_an_unknown_outcome_found_not_published_is_told_of_and_may_run_again(
    world: World, platform: FakePlatform
) -> None:
    page = world.page()
    platform.script = [OutcomeUnknown("never arrived")]
    assert send(world, page, "op").code == "PLATFORM_OUTCOME_UNKNOWN"
    world.look(after_seconds=90)
    assert world.ask("SELECT state FROM posts")[0].state == "failed"
    assert world.events() == ["post.failed"]
    assert send(world, page, "op").status == "published"
    assert len(platform.posts) == 1


def test_anything_unforeseen_in_a_call_counts_as_unknown(world: World, platform: FakePlatform) -> None:
    platform.script = [platform.keep(RuntimeError("a bug"))]
    assert send(world, world.page()).code == "PLATFORM_OUTCOME_UNKNOWN"


def test_what_went_out_fills_the_hour_and_queued_posts_do_not(world: World) -> None:
    page = world.page("LN")
    world.schedule(page, world.in_minutes(20))
    assert [send(world, page).status for _ in range(3)] == ["published"] * 3
    error = send(world, page)
    assert error.code == "PAGE_PUBLISH_GUARDRAIL"
    assert 3_590 < error.extras["retry_after_seconds"] <= 3_600
    world.shift(3_600)
    assert send(world, page).status == "published"


def test_twenty_publishes_at_once_never_break_the_cap(world: World, platform: FakePlatform) -> None:
    page = world.page("LN")
    with ThreadPoolExecutor(10) as pool:
        results = list(pool.map(lambda _: send(world, page), range(20)))
    assert sum(isinstance(result, api.PublishResult) for result in results) == 3
    assert len(platform.posts) == 3


def test_a_refused_post_does_not_fill_the_hour(world: World, platform: FakePlatform) -> None:
    page = world.page("LN")
    platform.script = [PlatformRefusal(Refusal.REJECTED, "100", "no") for _ in range(3)]
    assert [send(world, page).code for _ in range(3)] == ["PLATFORM_REJECTED"] * 3
    assert send(world, page).status == "published"


def test_a_client_waits_its_turn_at_the_platforms_only_so_long(
    app: SendingContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("publishing.context._SLOT_SECONDS", 0.01)
    with app.live_call("usr_a"), app.live_call("usr_b"):
        with pytest.raises(ApiError) as refusal, app.live_call("usr_c"):
            pass
        assert refusal.value.code == "SERVICE_UNAVAILABLE"
    with app.live_call("usr_c"):
        """There is room again."""


@pytest.mark.parametrize(("live_calls", "share"), [(1, 1), (16, 11), (40, 27)])
def test_no_account_takes_more_than_two_thirds_of_the_turns(
    make_app: Any, monkeypatch: pytest.MonkeyPatch, live_calls: int, share: int
) -> None:
    monkeypatch.setattr("publishing.context._SLOT_SECONDS", 0.01)
    app = make_app(live_calls=live_calls)
    with ExitStack() as held:
        for _ in range(share):
            held.enter_context(app.live_call("usr_a"))
        with pytest.raises(ApiError) as refusal, app.live_call("usr_a"):
            pass
        assert refusal.value.code == "SERVICE_UNAVAILABLE"
        for other in range(min(2, live_calls - share)):
            held.enter_context(app.live_call(f"usr_{other}"))
    for _ in range(2):
        with app.live_call("usr_a"):
            """Calls that have ended do not count."""


def test_an_outcome_nobody_can_establish_is_given_up_and_never_sent_again(
    world: World, app: SendingContext, platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = world.page()
    platform.script = [OutcomeUnknown("dropped")]
    send(world, page, "op")
    refuse = PlatformRefusal(Refusal.TRANSIENT, "2", "busy")

    def no_look(*args: Any, **options: Any) -> Any:
        raise refuse

    monkeypatch.setattr(platform, "look_up", no_look)
    world.look(after_seconds=3_600)
    assert world.ask("SELECT state FROM posts")[0].state == "unknown"
    world.look(after_seconds=reconciliation.GIVE_UP_SECONDS)
    [row] = world.ask("SELECT state, error_code, error_message FROM posts")
    assert tuple(row)[:2] == ("failed", "PLATFORM_OUTCOME_UNKNOWN")
    assert "Look for it on the page; publish it again only if it is not there." in row.error_message


def test_a_platform_without_a_connector_is_refused_at_once_and_takes_a_schedule(world: World) -> None:
    page = world.page(platform="TW")
    error = send(world, page)
    assert (error.code, error.extras) == ("UNSUPPORTED_PLATFORM", {"platform": "TW"})
    assert world.ask("SELECT * FROM posts") == []
    now = validation.validate(world.app, world.caller(), api.ValidatePost(page_id=page.id, message="hello"))
    assert [finding.code for finding in now.errors] == ["UNSUPPORTED_PLATFORM"]
    at = datetime.now(UTC) + timedelta(hours=1)
    later = api.ValidatePost(page_id=page.id, message="hello", scheduled_at=at)
    found = validation.validate(world.app, world.caller(), later)
    assert (found.valid, [finding.code for finding in found.warnings]) == (True, ["UNSUPPORTED_PLATFORM"])
