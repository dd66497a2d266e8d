"""While posts are being scheduled, kill -9 ends dockerd and every process in every container."""

import os
import threading
import time

import pytest
from container_builds import Builds
from container_kit import account, sample, schedule, tell

from local.containers.compose import Composed

#: How long from the engine's start until every service responds and a client has uploaded a file. The core runs in CI,
#: on machines that may be busy.
READY_SECONDS, READY_SECONDS_OF_CORE = 30.0, 60.0
#: How many posts are scheduled before the end comes, and how many in all. Each writer has its own.
BEFORE, POSTS = 15, 40
WRITERS = 2


def test_nothing_is_lost_and_everything_is_ready_within_half_a_minute(
    stack: Composed, is_core: bool, builds: Builds
) -> None:
    if stack.profile == "compact" and not is_core:
        pytest.skip("the profile core loses its power")
    builds.wait_all()
    photo = sample(stack)
    begun_at = time.monotonic()
    os.sync()  # otherwise PostgreSQL's recovery may wait until the disk has the films of other tests
    tell(f"what other tests wrote is on the disk after {time.monotonic() - begun_at:.1f} s")
    made: dict[str, str] = {}
    trouble: list[BaseException] = []
    reached = threading.Semaphore(0)

    def write(writer: int) -> None:
        """Schedules posts. Repeats requests without an answer, as any client does."""
        try:
            with account(stack) as client:
                for number in range(writer, POSTS, WRITERS):
                    made[f"Power {number}"] = schedule(client, stack, "Power", number)
                    reached.release()
        except BaseException as error:  # noqa: BLE001 - reported by the test
            trouble.append(error)
            reached.release(BEFORE)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for each in writers:
        each.start()
    for _ in range(BEFORE):
        reached.acquire()
    acknowledged = dict(made)
    stack.engine.power_off()
    begun_at = time.monotonic()
    stack.engine.boot()
    stack.wait_ready(READY_SECONDS * 3)
    tell(f"every service responds after {time.monotonic() - begun_at:.1f} s")
    with account(stack) as client:
        client.upload(photo, filename="after.jpg")
    seconds = time.monotonic() - begun_at
    tell(f"a file is uploaded after {seconds:.1f} s")
    stack.engine.docker("start", "operator")
    for each in writers:
        each.join()
    assert not trouble
    assert acknowledged.items() <= made.items()
    with account(stack) as client:
        there = {
            row.id: row.message for row in client.iterate_scheduled_posts() if "Power" in (row.message or "")
        }
    assert there == {id_: message for message, id_ in made.items()}
    assert len(there) == POSTS
    assert seconds <= (READY_SECONDS_OF_CORE if is_core else READY_SECONDS)
