"""The second try of an operation is refused while the first one still runs: the first one must not store anything
afterwards.
"""

from datetime import timedelta
from functools import partial

import msgspec
from publishing_kit.stage import Stage

from chassis.ids import new_id
from contracts import publishing as api
from contracts.errors import ApiError
from publishing.posts import schedule
from publishing.posts.answers import Answer
from testkit.interleaving import Ended, Try, explore


def refusal_of(ended: Ended) -> str | None:
    """Returns the code of a refusal after which the gateway releases the key, so that the client may send something
    else. Returns None if the try ended otherwise.
    """
    error = ended.error
    if isinstance(error, ApiError):
        is_open = error.code in ("SERVICE_UNAVAILABLE", "IDEMPOTENCY_IN_PROGRESS", "PLATFORM_OUTCOME_UNKNOWN")
        return None if is_open or error.code == "POST_IN_PROGRESS" else error.code
    assert error is None or ended.was_killed, f"unforeseen: {error!r}"
    return None


def test_a_schedule_that_was_refused_stores_nothing_later(stage: Stage, seeds: range) -> None:
    first, second = stage.interleaver.process("first"), stage.interleaver.process("second")

    def example(seed: int) -> None:
        page, at = stage.brand_page(), stage.world.in_minutes(11)
        caller = stage.world.caller(new_id("op"))
        again = msgspec.structs.replace(caller, try_number=2)
        request = api.SchedulePost(page_id=page.id, scheduled_at=at, message="hello")
        run = stage.interleaver.run(
            seed,
            Try("first", first, partial(schedule.schedule, stage.app(first), caller, request)),
            Try("second", second, partial(schedule.schedule, stage.app(second), again, request)),
            stage.meanwhile("time passes", partial(stage.world.shift, 120)),
        )
        stored = [row.id for row in stage.posts(page)]
        refusal, made = refusal_of(run["second"]), run["second"].value
        found = f"second {refusal or ('scheduled' if made else 'unknown')}, stored {len(stored)}"
        assert len(stored) <= 1, f"scheduled twice: {found}"
        assert not (refusal and stored), f"stored though refused: {found}"
        for ended in run.ended.values():
            assert ended.value is None or [ended.value.id] == stored, f"a false answer: {found}"
        if refusal:
            later = msgspec.structs.replace(request, scheduled_at=at + timedelta(hours=1))
            schedule.schedule(stage.world.app, stage.world.caller(), later)
            assert len(stage.posts(page)) == 1

    explore(stage.interleaver, seeds, example)


def test_a_publish_at_once_that_was_refused_never_goes_out(stage: Stage, seeds: range) -> None:
    first, second = stage.interleaver.process("first"), stage.interleaver.process("second")

    def example(seed: int) -> None:
        page, caller = stage.brand_page(), stage.world.caller(new_id("op"))
        again = msgspec.structs.replace(caller, try_number=2)
        run = stage.interleaver.run(
            seed,
            Try("first", first, partial(stage.publishing, stage.app(first), page, caller, "hello", Answer())),
            Try(
                "second",
                second,
                partial(stage.publishing, stage.app(second), page, again, "hello", Answer()),
            ),
            stage.meanwhile("the page expires", partial(stage.expire, page)),
        )
        stage.settle(page)
        refusal, made, posted = refusal_of(run["second"]), run["second"].value, len(stage.posted(page))
        found = f"second {refusal or ('published' if made else 'unknown')}, posted {posted}"
        assert posted <= 1, f"posted twice: {found}"
        assert not (refusal and posted), f"posted though refused: {found}"
        assert not made or posted, f"a false answer: {found}"

    explore(stage.interleaver, seeds, example)
