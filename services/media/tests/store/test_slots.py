"""Videos that wait for their turn leave workers, inspection slots and sandboxed processes free for images and other
accounts.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import msgspec
import pytest
from media_kit import samples
from media_kit.world import World

from chassis.sandbox import pool
from chassis.sandbox.pool import NotStarted
from contracts import media as api
from contracts.caller import Caller
from contracts.errors import ApiError
from media.context import AppContext
from media.files import downloads


@pytest.fixture
def adapt(world: World) -> Iterator[Callable[..., AppContext]]:
    """`adapt(setting=value)` gives the world a context with these settings, and returns the context."""
    with ExitStack() as made:

        def build(**settings: Any) -> AppContext:
            changed = msgspec.structs.replace(world.context.settings, **settings)
            world.context = AppContext(world.database, changed)
            made.callback(world.context.sandbox_pool.close)
            return world.context

        yield build


class Commit(threading.Thread):
    """A thread that commits a small video."""

    def __init__(self, world: World, caller: Caller) -> None:
        super().__init__()
        self._world, self._caller, self._data = world, caller, samples.film()
        self._ticket = world.put(self._data, caller, filename="a.mp4", mime_type="video/mp4")
        self.result: Any = None

    def run(self) -> None:
        try:
            self.result = self._world.commit(self._ticket, len(self._data), self._caller)
        except ApiError as error:
            self.result = error.code


def until_refused(commits: list[Commit], count: int) -> None:
    """Waits until at least `count` of the commits have been refused."""
    end = time.monotonic() + 30
    while [it.result for it in commits].count("SERVICE_UNAVAILABLE") < count:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_waiting_videos_leave_room_for_images_and_for_other_accounts(
    world: World, adapt: Callable[..., AppContext]
) -> None:
    """Of 24 workers, six may wait for a video slot, but only three for the same account."""
    context = adapt(workers=24)
    one, other = world.caller("usr_a"), world.caller("usr_b")
    commits = [Commit(world, one) for _ in range(8)]
    with context.video_slot("usr_c"):
        for commit in commits:
            commit.start()
        until_refused(commits, 5)
        late = Commit(world, other)
        late.start()
        media = world.media(one)
        request = api.GetFiles(media_ids=(media.media_id,), platform="IG")
        assert downloads.get_files(context, one, request).files[0].mime_type == "image/jpeg"
        with ExitStack() as all_slots:
            for holder in ("usr_a", "usr_a", "usr_b", "usr_c"):
                all_slots.enter_context(context.inspection_slot(holder, 0))
        assert late.result is None
        assert [it.result for it in commits].count(None) == 3
    for commit in (*commits, late):
        commit.join(60)
    assert [it.result.duration_seconds for it in (*commits, late) if it.result != "SERVICE_UNAVAILABLE"] == [
        2.5
    ] * 4


def test_a_picture_is_fetched_only_when_a_process_is_free(
    world: World, adapt: Callable[..., AppContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If pictures were fetched earlier, each worker could put a large file into the temporary folder at the same
    time.
    """
    context, media, fetched = adapt(confined_at_once=1), world.media(), []
    monkeypatch.setattr(pool, "_TURN_SECONDS", 0.1)
    monkeypatch.setattr(context.bucket, "download", lambda name, _: fetched.append(name))
    request = api.GetFiles(media_ids=(media.media_id,), platform="IG")
    with context.sandbox_pool.turn():
        with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
            world.media()
        with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
            downloads.get_files(context, world.caller(), request)
    assert fetched == []


def test_no_account_has_all_inspection_slots(adapt: Callable[..., AppContext]) -> None:
    context = adapt(workers=8)
    with context.inspection_slot("usr_a"), context.inspection_slot("usr_a"):
        with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"), context.inspection_slot("usr_a", 0):
            pass
        with context.inspection_slot("usr_b", 0):
            pass


@pytest.mark.parametrize(
    ("confined_at_once", "videos_at_once", "copied"), [(1, 2, 1), (2, 2, 1), (3, 2, 2), (4, 2, 2), (4, 9, 3)]
)
def test_videos_leave_one_sandboxed_process_to_images(
    adapt: Callable[..., AppContext], confined_at_once: int, videos_at_once: int, copied: int
) -> None:
    context = adapt(confined_at_once=confined_at_once, videos_at_once=videos_at_once)
    with ExitStack() as held:
        for number in range(copied):
            held.enter_context(context.video_slot(f"usr_{number}", 0))
        with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"), context.video_slot("usr_late", 0):
            pass


def test_a_finished_copy_waits_for_no_second_turn(
    world: World, adapt: Callable[..., AppContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = adapt(confined_at_once=1).sandbox_pool
    monkeypatch.setattr("chassis.sandbox.pool._TURN_SECONDS", 0.01)
    run, refused = pool.run_program, 0

    def run_and_compete(*arguments: Any, **options: Any) -> int:
        nonlocal refused
        status = run(*arguments, **options)
        with pytest.raises(NotStarted):
            pool.confinement()
        refused += 1
        return status

    monkeypatch.setattr(pool, "run_program", run_and_compete)
    commit = Commit(world, world.caller())
    commit.run()
    assert commit.result.duration_seconds == 2.5
    assert refused == 2


def test_a_video_that_finds_no_sandboxed_process_may_be_committed_again(
    world: World, adapt: Callable[..., AppContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = adapt(confined_at_once=1).sandbox_pool
    commit = Commit(world, world.caller())
    with monkeypatch.context() as patch:
        patch.setattr("chassis.sandbox.pool._TURN_SECONDS", 0.01)
        with pool.turn():
            commit.run()
    assert commit.result == "SERVICE_UNAVAILABLE"
    commit.run()
    assert commit.result.duration_seconds == 2.5
