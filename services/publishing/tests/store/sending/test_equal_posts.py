"""Posts of one page that a look-up cannot tell apart: none is published twice, and none stays unknown for ever."""

from collections.abc import Callable
from typing import Any

import pytest
from publishing_kit.fake_media import FakeMedia
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from contracts import publishing as api
from contracts.errors import ApiError
from publishing.platforms.base import OutcomeUnknown, Published
from publishing.sending import reconciliation
from publishing.sending.reconciliation import GIVE_UP_SECONDS

LOST = OutcomeUnknown("no answer")
TEXT = "see https://example.com"


@pytest.fixture
def unknown(world: World, platform: FakePlatform) -> Any:
    """Makes posts of one page with the same text and unknown outcomes. `kept` says which of them the platform has
    published.
    """

    def make(*kept: bool, same_picture: bool = False) -> list[str]:
        page = world.page()
        for number in range(len(kept)):
            world.schedule(page, world.in_minutes(11 + number), media_urls=[])
        platform.script = [platform.keep(OutcomeUnknown("no answer")) if one else LOST for one in kept]
        world.shift(60 * (11 + len(kept)))
        world.send()
        picture = "'https://a.example/1.jpg'" if same_picture else "'https://a.example/' || id"
        world.run(f"UPDATE posts SET media_urls = ARRAY[{picture}]")
        return [row.id for row in world.ask("SELECT id FROM posts ORDER BY scheduled_at")]

    return make


@pytest.fixture
def during_next_call(platform: FakePlatform, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`during_next_call(happens)` makes the next publish call `happens(remote_id)` when the platform has made the post
    and has not answered yet.
    """

    def arrange(happens: Callable[[str], None]) -> None:
        real = platform.publish

        def call(*arguments: Any) -> Published:
            monkeypatch.setattr(platform, "publish", real)
            published: Published = real(*arguments)
            happens(published.remote_id)
            return published

        monkeypatch.setattr(platform, "publish", call)

    return arrange


@pytest.fixture
def one_unknown(world: World, platform: FakePlatform) -> Any:
    """Makes a post that never arrived at the platform and whose outcome is unknown. Returns its page."""

    def make() -> api.Page:
        page = world.page()
        platform.script = [LOST]
        with pytest.raises(ApiError):
            world.publish(page, TEXT)
        return page  # type: ignore[no-any-return]

    return make


def states(world: World) -> list[str]:
    return [row.state for row in world.ask("SELECT state FROM posts ORDER BY scheduled_at")]


@pytest.mark.parametrize("kept", [(True, False), (False, True), (True, False, False)])
def test_a_post_that_could_be_either_ones_is_nobodys_and_none_is_sent_again(
    kept: tuple[bool, ...], world: World, platform: FakePlatform, unknown: Any
) -> None:
    unknown(*kept)
    for _ in range(2):
        world.look(after_seconds=120)
        world.send()
    assert (states(world), len(platform.posts)) == (["unknown"] * len(kept), 1)
    for _ in range(2):
        world.look(after_seconds=GIVE_UP_SECONDS)
    world.shift(3_600)
    world.send()
    assert (states(world), len(platform.posts)) == (["failed"] * len(kept), 1)
    assert {row.outcome for row in world.ask("SELECT outcome FROM attempts")} == {"given_up"}


def test_one_that_was_given_up_may_still_own_what_is_found(
    world: World, platform: FakePlatform, unknown: Any
) -> None:
    first, second = unknown(True, False)
    later = "UPDATE posts SET lease_until = clock_timestamp() + interval '1 hour' WHERE id = :id"
    world.run("UPDATE posts SET unknown_since = clock_timestamp() WHERE true")
    world.run(later, id=second)
    world.run(
        "UPDATE posts SET unknown_since = clock_timestamp() - make_interval(secs => :s),"
        " lease_until = clock_timestamp() WHERE id = :id",
        s=GIVE_UP_SECONDS,
        id=first,
    )
    reconciliation.look_up_posts(world.app)
    assert world.app.side.wait_idle(5)
    assert states(world) == ["failed", "unknown"]
    world.look(after_seconds=120)
    assert states(world) == ["failed", "unknown"]


def test_where_all_of_them_are_out_each_gets_one(world: World, platform: FakePlatform, unknown: Any) -> None:
    unknown(True, True, True)
    for _ in range(3):
        world.look(after_seconds=120)
    assert states(world) == ["published"] * 3
    assert len({row.remote_id for row in world.ask("SELECT remote_id FROM posts")}) == 3
    assert len(platform.posts) == 3


def test_posts_that_ask_for_the_same_need_not_be_told_apart(
    world: World, platform: FakePlatform, unknown: Any
) -> None:
    unknown(False, True, same_picture=True)
    for _ in range(4):
        world.look(after_seconds=120)
        world.run("UPDATE posts SET media_urls = '{}'")
        world.shift(3_600)
        world.send()
    assert states(world) == ["published"] * 2
    assert len(platform.posts) == 2


def test_what_an_id_of_the_attempt_proves_is_concluded_at_once(
    world: World, platform: FakePlatform, unknown: Any, monkeypatch: Any
) -> None:
    unknown(True, False)
    proven = Published(platform.posts[0][0])
    monkeypatch.setattr(platform, "look_up", lambda *args, **options: proven)
    world.run("UPDATE posts SET lease_until = NULL, state = 'sending' WHERE id = (SELECT max(id) FROM posts)")
    world.look(after_seconds=5)
    assert sorted(states(world)) == ["published", "sending"]


def test_a_post_that_is_being_sent_keeps_its_post_whatever_media_it_has(
    world: World, platform: FakePlatform, media: FakeMedia, one_unknown: Any, during_next_call: Any
) -> None:
    page = one_unknown()
    during_next_call(lambda remote_id: world.look(after_seconds=5))
    published = world.publish(page, TEXT, media_ids=(media.add(size_bytes=10),))
    assert published.platform_post_id == platform.posts[0][0]
    assert sorted(states(world)) == ["published", "unknown"]


@pytest.fixture
def taken(world: World, one_unknown: Any, during_next_call: Any) -> None:
    """A post whose answer has a remote id that was meanwhile stored for another post."""
    page = one_unknown()
    take = "UPDATE posts SET state = 'published', lease_until = NULL, remote_id = :id WHERE state = 'unknown'"
    during_next_call(lambda remote_id: world.run(take, id=remote_id))
    with pytest.raises(ApiError) as error:
        world.publish(page, TEXT)
    assert error.value.code == "PLATFORM_OUTCOME_UNKNOWN"


@pytest.mark.usefixtures("taken")
def test_an_answer_that_names_a_post_taken_by_another_is_an_unknown_outcome_and_never_sent_again(
    world: World, platform: FakePlatform
) -> None:
    for _ in range(2):
        world.look(after_seconds=120)
        world.send()
    assert sorted(states(world)) == ["published", "unknown"]
    world.look(after_seconds=GIVE_UP_SECONDS)
    assert sorted(states(world)) == ["failed", "published"]
    assert len(platform.posts) == 1


@pytest.mark.usefixtures("taken")
def test_it_is_published_with_its_link_once_the_other_has_another_id(
    world: World, platform: FakePlatform
) -> None:
    world.look(after_seconds=120)
    world.run("UPDATE posts SET remote_id = 'another' WHERE state = 'published'")
    world.look(after_seconds=120)
    [row] = world.ask("SELECT remote_id, permalink FROM posts WHERE remote_id <> 'another'")
    assert (row.remote_id, row.permalink) == (
        platform.posts[0][0],
        f"https://platform/{platform.posts[0][0]}",
    )


@pytest.mark.usefixtures("taken")
def test_its_next_attempt_is_looked_up_by_itself(world: World, platform: FakePlatform) -> None:
    again = (
        "UPDATE posts SET state = 'queued', out_at = clock_now(), unknown_since = NULL, lease_until = NULL"
    )
    world.run("UPDATE attempts SET outcome = 'given_up' WHERE outcome IS NULL")
    world.run(f"{again} WHERE state = 'unknown'")
    platform.script = [platform.keep(OutcomeUnknown("no answer"))]
    world.send()
    world.look(after_seconds=120)
    assert states(world) == ["published"] * 2
    assert {row.remote_id for row in world.ask("SELECT remote_id FROM posts")} == {
        remote_id for remote_id, _ in platform.posts
    }


def test_a_candidate_that_gets_its_owner_during_the_look_is_not_counted(
    world: World, platform: FakePlatform, unknown: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, second, third = unknown(False, True, True)
    world.run(
        "UPDATE posts SET unknown_since = clock_timestamp(),"
        " lease_until = clock_timestamp() + make_interval(secs => CASE WHEN id = :id THEN 0 ELSE 3600 END)",
        id=ours,
    )
    world.run("UPDATE posts SET state = 'sending', lease_until = 'infinity' WHERE id = :id", id=third)
    look_up = platform.look_up

    def overtaken(*arguments: Any, **options: Any) -> Any:
        found = look_up(*arguments, **options)
        world.run(
            "UPDATE posts SET state = 'published', lease_until = NULL, remote_id = :remote WHERE id = :id",
            id=third,
            remote=platform.posts[1][0],
        )
        return found

    monkeypatch.setattr(platform, "look_up", overtaken)
    reconciliation.look_up_posts(world.app)
    assert world.app.side.wait_idle(5)
    assert (world.state(ours).state, world.state(second).state) == ("unknown", "unknown")
