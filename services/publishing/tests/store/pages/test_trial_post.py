"""The test post of `platform check --post`: made once and removed, even if a check is interrupted."""

import os
import signal
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from contracts import publishing as api
from contracts.caller import operator
from contracts.platform_checks import CheckPlatform, PlatformCheck
from publishing.pages import platform_check
from publishing.platforms.base import Content, OutcomeUnknown, PlatformRefusal, Profile, Refusal, StillUnknown
from publishing.platforms.http_client import transient
from publishing.platforms.registry import PLUGINS
from publishing.platforms.trial import Trial


@dataclass
class Hand:
    """Stages and removes test posts, and records that. The next removal raises `problem`, if it is set."""

    removed: list[str] = field(default_factory=list)
    staged: list[str] = field(default_factory=list)
    #: Raised by the next removal.
    problem: Exception | None = None

    def remove(self, settings: Any, account: Any, post_id: str) -> None:
        if self.problem is not None:
            problem, self.problem = self.problem, None
            raise problem
        self.removed.append(post_id)

    def stage(self, settings: Any, account: Any, text: str, photo: str) -> str:
        self.staged.append(photo)
        return f"staged {len(self.staged)}"


@pytest.fixture
def hand(monkeypatch: pytest.MonkeyPatch) -> Hand:
    hand = Hand()
    use(monkeypatch, Trial(what="a private post", content=Content, remove=hand.remove))
    return hand


def use(monkeypatch: pytest.MonkeyPatch, trial: Trial | None) -> None:
    plugin = replace(PLUGINS["FB"], trial=trial, facts=lambda settings, account: iter(()))
    monkeypatch.setitem(PLUGINS, "FB", plugin)


def check(world: World, page: api.Page, **more: Any) -> PlatformCheck:
    request = CheckPlatform(platform="FB", page_id=page.id, has_post=True, **more)
    [found] = [
        one for one in platform_check.check(world.app, operator(), request).checks if one.check == "test post"
    ]
    return found


def left(world: World) -> int:
    return len(world.ask("SELECT * FROM trial_posts"))


def pass_time(world: World, seconds: float = 200.0) -> None:
    """Lets time pass until the interrupted check counts as ended."""
    world.run(f"UPDATE trial_posts SET began_at = began_at - make_interval(secs => {seconds})")


def test_a_test_post_is_made_once_and_removed(world: World, platform: FakePlatform, hand: Hand) -> None:
    found = check(world, world.page())
    [(remote_id, message)] = platform.posts
    assert (found.state, found.found) == ("ok", f"made as {remote_id}, and deleted")
    assert message.startswith("Test of the connection by Posthaste, tst_")
    assert (hand.removed, left(world)) == ([remote_id], 0)


def test_without_being_asked_there_is_no_test_post(world: World, platform: FakePlatform, hand: Hand) -> None:
    page = world.page()
    request = CheckPlatform(platform="FB", page_id=page.id)
    assert "test post" not in [
        one.check for one in platform_check.check(world.app, operator(), request).checks
    ]
    assert platform.posts == []


def test_a_public_one_needs_a_word_of_its_own(
    world: World, platform: FakePlatform, hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, Trial(what="a public post", is_public=True, content=Content, remove=hand.remove))
    page = world.page()
    found = check(world, page)
    assert (found.state, platform.posts) == ("skipped", [])
    assert "--yes-public" in found.advice
    assert check(world, page, is_public=True).state == "ok"
    assert len(hand.removed) == len(platform.posts) == 1


def test_a_platform_that_deletes_nothing_gets_none(
    world: World, platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, None)
    assert (check(world, world.page(), is_public=True).state, platform.posts) == ("skipped", [])


def test_a_refusal_is_told_and_leaves_nothing(world: World, platform: FakePlatform, hand: Hand) -> None:
    platform.script = [PlatformRefusal(Refusal.PERMISSION, "200", "No permission to post.")]
    found = check(world, world.page())
    assert (found.state, found.found) == ("failed", "No permission to post. (200)")
    assert (hand.removed, left(world)) == ([], 0)


def test_what_could_not_be_deleted_is_named_and_deleted_by_the_next_check(
    world: World, platform: FakePlatform, hand: Hand
) -> None:
    page, hand.problem = world.page(), transient("500", "Broken.")
    found = check(world, page)
    [(remote_id, _)] = platform.posts
    assert found.state == "failed"
    assert remote_id in found.found
    assert "not deleted" in found.found
    again = check(world, page)
    assert again.state == "ok"
    assert remote_id in again.found
    assert (hand.removed, left(world), len(platform.posts)) == ([remote_id], 0, 1)


def test_a_check_that_is_run_again_after_an_unknown_outcome_makes_no_second_post(
    world: World, platform: FakePlatform, hand: Hand
) -> None:
    page, platform.script = world.page(), [platform.keep(OutcomeUnknown("the answer was lost"))]
    assert check(world, page).state == "unknown"
    assert check(world, page).state == "unknown"
    assert platform.looks == 0
    pass_time(world)
    found = check(world, page)
    [(remote_id, _)] = platform.posts
    assert (found.state, hand.removed, left(world)) == ("ok", [remote_id], 0)


def test_a_process_that_is_killed_after_it_sent_leaves_a_post_that_the_next_check_deletes(
    world: World, platform: FakePlatform, hand: Hand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, sent = world.page(), tmp_path / "sent"

    def publish_and_die(account: Any, content: Content, checkpoint: Any) -> Any:
        sent.write_text(content.message)
        os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        # The connections are the parent's.
        world.app.database.engine.dispose(close=False)
        monkeypatch.setattr(platform, "publish", publish_and_die)
        check(world, page)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    platform.posts.append(("p1", sent.read_text()))
    assert check(world, page).found == "another check is making one"
    pass_time(world)
    found = check(world, page)
    assert (found.state, hand.removed, left(world)) == ("ok", ["p1"], 0)
    assert len(platform.posts) == 1


def test_what_a_refused_post_leaves_is_removed_and_by_the_next_check_if_that_fails(
    world: World, platform: FakePlatform, hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """YouTube, for example, accepts a video before it fails to process it."""

    def fail(account: Any, content: Content, checkpoint: Any) -> Any:
        checkpoint.save(video_id="v1")
        raise PlatformRefusal(Refusal.REJECTED, "failed", "The video cannot be processed.")

    trial = Trial(
        what="a private video",
        content=Content,
        remove=hand.remove,
        left=lambda values: values.get("video_id"),
    )
    use(monkeypatch, trial)
    monkeypatch.setattr(platform, "publish", fail)
    page = world.page()
    found = check(world, page)
    assert (found.state, found.found) == ("failed", "The video cannot be processed. (failed)")
    assert (hand.removed, left(world)) == (["v1"], 0)
    hand.problem = transient("500", "Broken.")
    found = check(world, page)
    assert (found.state, "v1, but not deleted" in found.found, left(world)) == ("failed", True, 1)
    assert check(world, page).state == "ok"
    assert (hand.removed, left(world)) == (["v1", "v1"], 0)


def test_a_check_that_was_killed_before_it_sent_is_followed_by_one_post(
    world: World, platform: FakePlatform, hand: Hand
) -> None:
    page, platform.script = world.page(), [KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        check(world, page)
    assert (left(world), platform.posts) == (1, [])
    pass_time(world)
    assert check(world, page).state == "ok"
    assert (len(platform.posts), len(hand.removed), left(world)) == (1, 1, 0)


def test_what_a_platform_cannot_tell_is_left_to_a_person_for_a_day(
    world: World, platform: FakePlatform, hand: Hand
) -> None:
    page, platform.script = world.page(), [platform.keep(OutcomeUnknown("the answer was lost"))]
    platform.look_up = lambda attempt: StillUnknown()
    check(world, page)
    pass_time(world)
    found = check(world, page)
    [(_, message)] = platform.posts
    assert found.state == "unknown"
    assert message in found.advice
    pass_time(world, 86_400)
    assert check(world, page).state == "ok"
    assert len(platform.posts) == 2


def test_a_staged_one_gets_the_photo_of_the_operator_or_the_pages_own(
    world: World, platform: FakePlatform, hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, Trial(what="a container", needs_photo=True, stage=hand.stage))
    page = world.page()
    assert check(world, page).state == "skipped"
    found = check(world, page, photo_url="https://example.com/a.jpg")
    assert (found.state, found.found, found.expected) == ("ok", "made as staged 1", "a container is made")
    platform.profile = lambda account: Profile("x", None, 0, "https://example.com/own.jpg")
    check(world, page)
    assert hand.staged == ["https://example.com/a.jpg", "https://example.com/own.jpg"]
