"""Polls for comments: which posts are polled and when, and how a poll continues after an interruption."""

from collections.abc import Callable
from typing import Any

import pytest
from publishing_kit.fake_media import FakeMedia
from publishing_kit.fake_platform import FakePlatform, Wall
from publishing_kit.world import World

from contracts.errors import ApiError, invalid
from publishing.comments import polls
from publishing.pages import linked_pages
from publishing.platforms.base import NotConnected, PlatformRefusal, Refusal
from publishing.platforms.lists import LISTING_SECONDS
from publishing.rules.poll_times import parse_stages
from publishing.sending.context import SendingContext


def row(world: World) -> Any:
    return world.ask(
        "SELECT *, extract(epoch FROM wake_at - clock_timestamp())::float8 AS wait FROM comment_polls"
    )[0]


def near(seconds: float) -> Any:
    return pytest.approx(seconds, abs=5)


def test_a_post_is_asked_for_from_soon_after_it_went_out(world: World, wall: Wall) -> None:
    world.published()
    assert row(world).wait == near(5)
    world.poll_due()
    assert wall.asked == []
    world.poll()
    assert len(wall.asked) == 1
    assert row(world).wait == near(60)


def test_a_scheduled_post_is_asked_for_too_and_one_that_failed_is_not(
    world: World, wall: Wall, platform: FakePlatform
) -> None:
    world.due_post()
    world.send()
    platform.script = [PlatformRefusal(Refusal.REJECTED, "100", "no")]
    with pytest.raises(ApiError):
        world.published()
    assert len(world.ask("SELECT FROM comment_polls")) == 1


def test_platforms_without_comments_are_not_asked(world: World, media: FakeMedia) -> None:
    world.published(world.page("TT"), media_ids=(media.add(),))
    assert world.ask("SELECT FROM comment_polls") == []


@pytest.mark.parametrize(("days", "wait"), [(0.5, 60), (2, 300), (10, 3_600), (20, 86_400)])
def test_the_older_a_post_the_rarer_it_is_asked_for(
    world: World, wall: Wall, days: float, wait: float
) -> None:
    world.published()
    world.shift(days * 86_400)
    world.poll()
    assert row(world).wait == near(wait)


def test_a_post_that_is_too_old_is_asked_for_once_more_and_never_again(world: World, wall: Wall) -> None:
    world.published()
    world.shift(31 * 86_400)
    wall.write()
    world.poll()
    assert len(world.told()) == 1
    assert world.ask("SELECT FROM comment_polls") == []


def test_only_what_is_new_is_asked_for_and_once_a_day_all_of_it(world: World, wall: Wall) -> None:
    world.published()
    wall.write()
    for _ in range(2):
        world.poll()
    world.run("UPDATE comment_polls SET full_at = full_at - interval '1 day'")
    world.poll()
    world.poll()
    assert [asked["since"] is None for asked in wall.asked] == [True, False, True, False]


def test_a_page_that_is_pushed_is_asked_less_often(
    world: World, wall: Wall, make_app: Callable[..., SendingContext]
) -> None:
    from publishing.platforms.meta.settings import MetaSettings
    from publishing.platforms.registry import default_settings

    meta = MetaSettings(app_secret="s", verify_token="v")
    listening = make_app(platforms=default_settings(FB=meta, IG=meta))
    world.published()
    world.poll(listening)
    assert row(world).wait == near(60)
    world.run("UPDATE pages SET subscribed = true")
    world.poll(listening)
    assert row(world).wait == near(900)
    world.poll()
    assert row(world).wait == near(60), "without our part of it nothing is pushed"


def test_ten_thousand_comments_at_once_are_all_told_in_turns(world: World, wall: Wall) -> None:
    world.published()
    for number in range(10_000):
        wall.write(f"{number}")
    turns = 0
    while True:
        world.run(
            "UPDATE comment_polls SET wake_at = wake_at - interval '1 second' WHERE wake_at < clock_timestamp()"
        )
        before = len(wall.asked)
        (world.poll_due if turns else world.poll)()
        read = len(wall.asked) - before
        assert read <= 10, "others come in between"
        if read == 0:
            break
        turns += 1
        late = wall.write(f"{10_000 + turns}") if turns == 3 else None
        assert late is None or late.created_at > wall.made[0].created_at
    assert (turns, len(wall.asked)) == (10, 100)
    assert len(world.told()) == 10_000
    world.poll()
    assert {event.comment.text for event in world.told()} == {one.text for one in wall.made}
    assert len(world.told()) == 10_001
    assert len(wall.asked) == 102, "as far as there is news, and a page more"


def test_a_reading_that_died_in_the_middle_goes_on_there(world: World, wall: Wall, monkeypatch: Any) -> None:
    world.published()
    wall.most = 2
    for number in range(6):
        wall.write(f"{number}")

    def die(*_: Any, **__: Any) -> Any:
        raise SystemExit

    monkeypatch.setattr(polls, "_PAGES_PER_TURN", 3)
    taken = []

    def twice(*args: Any, **options: Any) -> Any:
        taken.append(1)
        return die() if len(taken) == 2 else original(*args, **options)

    original = polls.store_comments
    monkeypatch.setattr(polls, "store_comments", twice)
    world.run("UPDATE comment_polls SET wake_at = clock_timestamp()")
    with world.database.transaction() as connection:
        from publishing.store.pages import Pages
        from publishing.store.polls import Polls
        from publishing.store.posts import Posts

        [poll] = Polls(connection).claim(10, 60)
        post = Posts(connection).get(poll.post_id)
        page = Pages(connection).get(poll.page_id)
    with pytest.raises(SystemExit):
        polls.run_poll(world.app, page, post, poll)
    assert len(world.told()) == 2
    world.poll_due()
    assert len(taken) == 2, "the claim of the dead still holds"
    world.poll()
    assert len(world.told()) == 6
    assert [asked["cursor"] for asked in wall.asked] == [None, "c00004", "c00004", "c00002"]


def test_a_claim_outlasts_each_page_of_the_list_however_slow(
    world: World, wall: Wall, platform: FakePlatform
) -> None:
    world.published()
    wall.most = 2
    for number in range(5):
        wall.write(f"{number}")
    held = []

    def list_comments(account: Any, query: Any) -> Any:
        held.append(row(world).wait)
        return wall.list_comments(account, query)

    platform.list_comments = list_comments
    world.poll()
    assert len(held) == 3
    # Replies are asked for so long, then two calls may take all their time.
    slowest = LISTING_SECONDS + 2 * 35
    assert min(held) > slowest + 10


def test_one_claim_at_a_time_whoever_asks(
    world: World, wall: Wall, make_app: Callable[..., SendingContext]
) -> None:
    for _ in range(3):
        world.published()
    world.run("UPDATE comment_polls SET wake_at = clock_timestamp()")
    for app in (world.app, make_app(), make_app()):
        world.poll_due(app)
    assert len(wall.asked) == 3


def test_each_process_asks_for_so_many_posts_in_a_second(
    world: World, wall: Wall, make_app: Callable[..., SendingContext]
) -> None:
    slow = make_app(polls_per_second=4.0)
    page = world.page()
    for _ in range(5):
        world.published(page)
    world.poll(slow)
    assert len(wall.asked) == 2, "two ticks a second"


def test_a_limited_page_is_left_alone_for_as_long_as_its_platform_says(world: World, wall: Wall) -> None:
    page, other = world.page(), world.page()
    for _ in range(3):
        world.published(page)
    wall.script = [PlatformRefusal(Refusal.RATE_LIMITED, "32", "too many", 1_200)]
    world.run("UPDATE comment_polls SET wake_at = clock_timestamp() WHERE post_id ="
              " (SELECT min(post_id) FROM comment_polls)")  # fmt: skip
    world.poll_due()
    world.published(other)
    world.poll()
    assert len(wall.asked) == 2, "the other page's post"
    assert {round(wait / 100) for (wait,) in world.ask(
        "SELECT extract(epoch FROM wake_at - clock_timestamp())::float8 FROM comment_polls WHERE page_id = :p",
        p=page.id)} == {12}  # fmt: skip
    world.run("UPDATE pages SET rest_until = clock_timestamp()")
    world.poll()
    assert len(wall.asked) == 6


def test_an_expired_page_is_not_asked_until_it_is_linked_again(world: World, wall: Wall) -> None:
    page = world.page()
    world.published(page)
    wall.write()
    wall.script = [PlatformRefusal(Refusal.EXPIRED, "190", "expired")]
    world.poll()
    assert world.ask("SELECT expired FROM pages") == [(True,)]
    world.poll()
    assert len(wall.asked) == 1
    link_again(world, page)
    world.poll_due()
    assert (len(wall.asked), len(world.told())) == (2, 1)


def link_again(world: World, page: Any) -> None:
    from contracts import publishing as api
    from contracts.caller import operator

    request = api.LinkPage(
        owner_account_id="usr_a", brand_id=page.brand_id, brand_name="Brand", platform=page.platform,
        remote_account_id=page.account_id, access_token="new", name="Page",
    )  # fmt: skip
    linked_pages.link(world.app, operator(), request)


@pytest.mark.parametrize(
    ("problem", "wait"),
    [
        (PlatformRefusal(Refusal.TRANSIENT, "2", "busy"), 60),
        (PlatformRefusal(Refusal.PERMISSION, "100/33", "gone"), 3_600),
        (PlatformRefusal(Refusal.REJECTED, "100", "no"), 3_600),
        (PlatformRefusal(Refusal.RATE_LIMITED, "32", "too many"), 300),
        (NotConnected("FB", "facebook"), 86_400),
    ],
)
def test_after_a_refusal_it_is_asked_again_when_that_makes_sense(
    world: World, wall: Wall, problem: Exception, wait: float
) -> None:
    world.published()
    wall.script = [problem]
    world.poll()
    assert row(world).wait == near(wait)


def test_a_place_in_the_list_that_is_gone_is_looked_for_from_the_head(
    world: World, wall: Wall, monkeypatch: Any
) -> None:
    monkeypatch.setattr(polls, "_PAGES_PER_TURN", 1)
    world.published()
    wall.most = 2
    for number in range(5):
        wall.write(f"{number}")
    world.poll()
    wall.script = [PlatformRefusal(Refusal.REJECTED, "100", "Invalid cursors values")]
    world.poll()
    assert (row(world).cursor, row(world).wait) == (None, near(60))
    for _ in range(4):
        world.poll()
    assert len(world.told()) == 5


@pytest.mark.parametrize("problem", [PlatformRefusal(Refusal.REJECTED, "100", "no"), KeyError("id")])
def test_a_list_that_can_be_read_no_further_than_its_first_page_is_put_off_for_an_hour(
    world: World, wall: Wall, platform: FakePlatform, problem: Exception
) -> None:
    world.published()
    wall.most = 2
    for number in range(5):
        wall.write(f"{number}")

    def list_comments(account: Any, query: Any) -> Any:
        if query.cursor is not None:
            raise problem
        return wall.list_comments(account, query)

    platform.list_comments = list_comments
    world.poll()
    assert (row(world).cursor, row(world).wait) == (None, near(3_600))
    assert len(world.told()) == 2


def test_a_look_that_went_wrong_in_a_way_nobody_foresaw_is_repeated_after_an_hour(
    world: World, wall: Wall
) -> None:
    world.published()
    wall.write()
    wall.script = [KeyError("id")]
    world.poll()
    assert row(world).wait == near(3_600)
    world.poll()
    assert len(world.told()) == 1


def test_a_post_whose_list_nobody_can_read_is_too_old_one_day(world: World, wall: Wall) -> None:
    world.published()
    world.shift(31 * 86_400)
    wall.script = [KeyError("id")]
    world.poll()
    assert world.ask("SELECT FROM comment_polls") == []


def test_a_place_in_the_list_that_is_not_understood_is_looked_for_from_the_head(
    world: World, wall: Wall
) -> None:
    world.published()
    world.run("UPDATE comment_polls SET cursor = 'of another kind'")
    wall.write()
    wall.script = [invalid("cursor", "is not a cursor of this list")]
    world.poll()
    assert (row(world).cursor, row(world).wait) == (None, near(60))
    world.poll()
    assert len(world.told()) == 1


def test_deployments_may_ask_as_often_as_they_like(
    world: World, wall: Wall, make_app: Callable[..., SendingContext]
) -> None:
    world.published()
    world.poll(make_app(polls={"FB": parse_stages("3600=5"), "IG": ()}))
    assert row(world).wait == near(5)
    world.poll(make_app(polls={"FB": ()}))
    assert world.ask("SELECT FROM comment_polls") == []
