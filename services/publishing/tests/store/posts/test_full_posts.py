"""GET /posts/{id}: a post with everything about it."""

import pytest
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import ACCOUNT, BRAND, World

from chassis.ids import new_id
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import ERRORS, ApiError
from publishing.platforms.base import OutcomeUnknown, PlatformRefusal, Refusal
from publishing.posts import cancellation, full_posts

#: Callers who may not see the world's posts, and the refusal that they get.
OUT_OF_REACH = pytest.mark.parametrize(
    ("caller", "code"),
    [
        (Caller(account_id="usr_b", user_id="usr_b"), "NOT_FOUND"),
        (Caller(account_id=ACCOUNT, user_id=ACCOUNT, brand_ids=("brd_other",)), "BRAND_NOT_AUTHORIZED"),
    ],
    ids=["another account", "a token for another brand"],
)


def show(world: World, post_id: str, caller: Caller | None = None) -> api.FullPost:
    return full_posts.show(world.app, caller or world.caller(), api.PostId(id=post_id))


def listed(world: World, *post_ids: str, caller: Caller | None = None) -> tuple[api.FullPost, ...]:
    request = api.ListPosts(post_ids=",".join(post_ids))
    return full_posts.show_list(world.app, caller or world.caller(), request).posts


def test_a_post_published_at_once_is_shown_with_its_attempt_page_and_maker(world: World) -> None:
    page = world.page()
    result = world.published(page, facebook_settings={"link": "https://example.com/"})
    shown = show(world, result.post_id)
    assert (shown.origin, shown.status, shown.scheduled_at) == ("immediate", "published", None)
    assert (shown.page.id, shown.page.name, shown.brand_id, shown.brand_name) == (
        page.id,
        "Page",
        BRAND,
        "Brand",
    )
    assert (shown.remote_id, shown.permalink) == (result.platform_post_id, result.permalink)
    assert shown.published_at == result.published_at
    assert shown.facebook_settings == {"link": "https://example.com/"}  # type: ignore[attr-defined]
    assert [(one.number, one.outcome, one.error) for one in shown.attempts] == [(1, "published", None)]
    assert shown.page.account_id == page.account_id
    assert shown.made_by is not None
    assert shown.made_by.user_id == ACCOUNT
    assert shown.metrics == api.Metrics()


def test_each_refused_attempt_shows_the_platforms_own_error_and_what_to_do(
    world: World, platform: FakePlatform
) -> None:
    post = world.due_post()
    platform.script = [
        PlatformRefusal(Refusal.TRANSIENT, "2", "try later"),
        PlatformRefusal(Refusal.REJECTED, "100", "too long"),
    ]
    world.send()
    waiting = show(world, post.id)
    assert (waiting.status, len(waiting.attempts), waiting.metrics) == ("queued", 1, None)
    assert waiting.next_attempt_at is not None
    world.shift(60)
    world.send()
    shown = show(world, post.id)
    assert (shown.origin, shown.status, shown.scheduled_at) == ("scheduled", "failed", post.scheduled_at)
    assert [one.outcome for one in shown.attempts] == ["refused", "refused"]
    assert [one.error and one.error.message for one in shown.attempts] == ["try later (2)", "too long (100)"]
    assert shown.error is not None
    assert shown.error.recommended_fix == ERRORS["PLATFORM_REJECTED"].recommended_fix


def test_a_publish_with_an_unknown_outcome_is_queued_with_an_open_attempt(
    world: World, platform: FakePlatform
) -> None:
    platform.script = [OutcomeUnknown("no answer")]
    with pytest.raises(ApiError) as unknown:
        world.published()
    assert unknown.value.code == "PLATFORM_OUTCOME_UNKNOWN"
    shown = show(world, unknown.value.extras["post_id"])
    assert (shown.status, shown.published_at) == ("queued", None)
    assert [(one.outcome, one.ended_at) for one in shown.attempts] == [("open", None)]


def test_a_cancelled_post_is_shown_without_attempts(world: World) -> None:
    post = world.schedule(world.page(), world.in_minutes(30), first_comment="first")
    cancellation.cancel(world.app, world.caller(), api.PostId(id=post.id))
    shown = show(world, post.id)
    assert (shown.status, shown.attempts, shown.next_attempt_at) == ("cancelled", (), None)
    assert (shown.first_comment, shown.first_comment_result) == ("first", None)


@OUT_OF_REACH
def test_a_post_out_of_reach_is_refused(world: World, caller: Caller, code: str) -> None:
    result = world.published()
    with pytest.raises(ApiError) as refused:
        show(world, result.post_id, caller)
    assert refused.value.code == code


def test_posts_are_listed_by_their_ids_in_this_order_and_each_once(world: World) -> None:
    out, waiting = world.published().post_id, world.schedule(world.page("TW"), world.in_minutes(30)).id
    assert listed(world, waiting, out, waiting) == (show(world, waiting), show(world, out))


def test_what_is_no_post_is_left_out_of_the_list(world: World) -> None:
    out = world.published().post_id
    found = listed(world, "", "x\0", new_id("pst"), out)
    assert [post.id for post in found] == [out]


@OUT_OF_REACH
def test_a_post_out_of_reach_is_left_out_of_the_list(world: World, caller: Caller, code: str) -> None:
    assert listed(world, world.published().post_id, caller=caller) == ()
