"""SIGTERM while a platform is being called: the process waits for the answer and stores it."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import create_engine, text

from contracts import publishing as api
from contracts.caller import operator

PHOTO = "http://media.posthaste.test/media/photo-1080x1080.jpg"


def test_a_post_that_is_on_its_way_when_the_service_is_told_to_stop_arrives(
    publishing: Any, simulator: Any
) -> None:
    page = publishing.page()
    at = datetime.now(UTC) + timedelta(hours=1)
    request = api.SchedulePost(page_id=page.id, scheduled_at=at, message="on its way")
    post = publishing.service.schedule_post(publishing.caller(), request)
    simulator.fault("publish", "slow")
    publishing.service.bring_post_due(operator(), api.PostId(id=post.id))
    engine = create_engine(publishing.service.env["DATABASE_URL"])

    def attempts() -> list[Any]:
        with engine.connect() as connection:
            return list(connection.execute(text("SELECT outcome FROM attempts")).scalars())

    wait_for(lambda: attempts() == [None])
    assert publishing.service.terminate() == 0
    assert attempts() == ["published"]
    with engine.connect() as connection:
        states = connection.execute(text("SELECT state, unknown_since FROM posts")).all()
    engine.dispose()
    assert states == [("published", None)]
    assert len(simulator.posts(page.account_id)) == 1


def test_an_upload_that_takes_longer_than_a_claim_lasts_is_published_after_sigterm(
    publishing: Any, simulator: Any, media_service: Any
) -> None:
    """One post is published at once for a waiting client, another post is due. Each has five photos that take two
    seconds each to upload. A claim lasts six seconds.
    """
    service, pages = publishing.service, [publishing.page(), publishing.page()]
    at = datetime.now(UTC) + timedelta(hours=1)
    request = api.SchedulePost(page_id=pages[0].id, scheduled_at=at, message="due", media_urls=(PHOTO,) * 5)
    post = service.schedule_post(publishing.caller(), request)
    simulator.fault("upload", "slow", times=10)
    engine = create_engine(service.env["DATABASE_URL"])

    def states() -> list[str]:
        with engine.connect() as connection:
            return list(connection.execute(text("SELECT state FROM posts ORDER BY state")).scalars())

    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(publishing.publish, pages[1], message="at once", media_urls=(PHOTO,) * 5)
        service.bring_post_due(operator(), api.PostId(id=post.id))
        wait_for(lambda: states() == ["sending", "sending"])
        assert service.terminate() == 0
        assert answer.result().post_id
    assert states() == ["published", "published"]
    engine.dispose()
    assert [len(simulator.posts(page.account_id)) for page in pages] == [1, 1]


def wait_for(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)
