"""SIGTERM while a platform has been called: the answer is waited for and written down."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import create_engine, text

from contracts import publishing as api
from contracts.caller import operator


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


def wait_for(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 15
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)
