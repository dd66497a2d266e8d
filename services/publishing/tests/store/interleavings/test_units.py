"""quota asks about the unit of an operation while its tries run, are late or are killed. The unit is returned unless
there is a post.
"""

from functools import partial
from typing import Any

import msgspec
import pytest
from publishing_kit.stage import Stage

from chassis.ids import new_id
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import ApiError
from contracts.events import UnconfirmedUnit, UnitsUnconfirmed
from publishing.posts import schedule, units
from publishing.posts.answers import Answer
from testkit.interleaving import Process, Try, explore


def ask(process: Process | Any, caller: Caller, try_number: int) -> None:
    """Delivers quota's question about the unit, up to three times, until it is handled."""
    charge = UnconfirmedUnit(
        account_id=caller.account_id, operation_id=str(caller.operation_id), try_number=try_number
    )
    for _ in range(3):
        try:
            with process.database.transaction() as connection:
                units.confirm(connection, UnitsUnconfirmed(charges=(charge,)))
            return
        except ApiError:
            continue


def returned_to_try(stage: Stage, caller: Caller) -> int:
    rows = stage.world.ask(
        "SELECT (convert_from(body, 'UTF8')::json -> 'data' ->> 'try_number')::int AS number FROM outbox"
        " WHERE event = 'unit.returned' AND convert_from(body, 'UTF8')::json -> 'data' ->> 'operation_id' = :id",
        id=caller.operation_id,
    )
    return max((row.number for row in rows), default=0)


@pytest.mark.parametrize("kind", ["schedule", "publish"])
def test_a_unit_is_used_if_and_only_if_there_is_a_post(stage: Stage, seeds: range, kind: str) -> None:
    processes = [stage.interleaver.process(name) for name in ("first", "second")]
    asking = stage.interleaver.process("quota asks")

    def example(seed: int) -> None:
        page, at = stage.brand_page(), stage.world.in_minutes(11)
        caller = stage.world.caller(new_id("op"))

        def call(process: Process, number: int) -> Any:
            app, one = stage.app(process), msgspec.structs.replace(caller, try_number=number)
            if kind == "publish":
                return stage.publishing(app, page, one, "hello", Answer())
            request = api.SchedulePost(page_id=page.id, scheduled_at=at, message="hello")
            return schedule.schedule(app, one, request)

        def questions() -> None:
            for number in (1, 2):
                ask(asking, caller, number)

        stage.interleaver.run(
            seed,
            *(
                Try(process.name, process, partial(call, process, number))
                for number, process in enumerate(processes, 1)
            ),
            Try("quota asks", asking, questions),
            stage.meanwhile("the page expires", partial(stage.expire, page)),
        )
        if kind == "publish":
            stage.settle(page)
        ask(stage.world, caller, 2)
        made = len(stage.posted(page) if kind == "publish" else stage.posts(page))
        used = int(returned_to_try(stage, caller) < 2)
        assert made == used, f"{used} units for {made} posts"

    explore(stage.interleaver, seeds, example)
