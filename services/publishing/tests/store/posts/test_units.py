"""quota asks which units of the month were used. The units of operations that made nothing are returned for good."""

from typing import Any

import msgspec
import pytest
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from contracts import publishing as api
from contracts.errors import ApiError
from contracts.events import Event, UnconfirmedUnit, UnitReturned, UnitsUnconfirmed, UnitsUndecided
from publishing.platforms.base import OutcomeUnknown, PlatformRefusal, Refusal
from publishing.posts import publish_now, units

ACCOUNT = "usr_a"


def ask(world: World, *tries: tuple[str, int]) -> None:
    charges = tuple(
        UnconfirmedUnit(account_id=ACCOUNT, operation_id=operation_id, try_number=number)
        for operation_id, number in tries
    )
    with world.database.transaction() as connection:
        units.confirm(connection, UnitsUnconfirmed(charges=charges))


def answers(world: World) -> list[tuple[str, list[tuple[str, int]]]]:
    """Returns the events about units, each with the operations and tries that it names."""
    rows = world.ask("SELECT body FROM outbox WHERE event LIKE 'unit%' ORDER BY position")
    events = [msgspec.json.decode(bytes(row.body), type=Event) for row in rows]
    return [(event.event, _tries_of(event)) for event in events]


def _tries_of(event: Event) -> list[tuple[str, int]]:
    if event.event == "unit.returned":
        assert event.account_id == ACCOUNT
        charges: Any = [msgspec.convert(event.data, UnitReturned)]
    else:
        charges = msgspec.convert(event.data, UnitsUndecided).charges
    return [(one.operation_id, one.try_number) for one in charges]


def send(world: World, page: Any, operation_id: str, try_number: int = 1) -> Any:
    request = api.PublishPost(page_id=page.id, message="hello")
    try:
        return publish_now.publish(world.app, world.caller(operation_id, try_number), request)
    except ApiError as error:
        return error


def test_a_call_that_never_arrived_has_used_no_unit_and_makes_nothing_when_it_comes_late(
    world: World,
) -> None:
    ask(world, ("op", 2))
    assert answers(world) == [("unit.returned", [("op", 2)])]
    assert send(world, world.page(), "op", 2).code == "IDEMPOTENCY_IN_PROGRESS"
    assert world.ask("SELECT count(*) AS count FROM posts")[0].count == 0


def test_a_later_try_of_the_same_operation_runs(world: World, platform: FakePlatform) -> None:
    ask(world, ("op", 1))
    assert send(world, world.page(), "op", 2).status == "published"
    ask(world, ("op", 2))
    assert answers(world) == [("unit.returned", [("op", 1)])]


def test_what_was_published_or_scheduled_has_used_its_unit(world: World) -> None:
    page = world.page()
    send(world, page, "op_at_once")
    world.schedule(page, world.in_minutes(30), operation_id="op_later")
    ask(world, ("op_at_once", 1), ("op_later", 1))
    assert answers(world) == []


def test_a_refused_publish_has_used_none(world: World, platform: FakePlatform) -> None:
    platform.script = [PlatformRefusal(Refusal.REJECTED, "100", "no")]
    assert send(world, world.page(), "op").code == "PLATFORM_REJECTED"
    ask(world, ("op", 1))
    assert answers(world) == [("unit.returned", [("op", 1)])]


@pytest.mark.parametrize("is_published", [True, False])
def test_while_the_outcome_is_unknown_it_is_to_be_asked_about_again(
    world: World, platform: FakePlatform, is_published: bool
) -> None:
    problem = OutcomeUnknown("no answer")
    platform.script = [platform.keep(problem) if is_published else problem]
    page = world.page()
    assert send(world, page, "op").code == "PLATFORM_OUTCOME_UNKNOWN"
    assert send(world, page, "op", 2).code == "POST_IN_PROGRESS"
    ask(world, ("op", 2))
    assert answers(world) == [("units.undecided", [("op", 2)])]
    world.look(after_seconds=90)
    ask(world, ("op", 2))
    assert answers(world)[1:] == ([] if is_published else [("unit.returned", [("op", 2)])])


def test_a_publish_that_failed_is_taken_up_again_by_a_later_try_alone(
    world: World, platform: FakePlatform
) -> None:
    platform.script = [OutcomeUnknown("never arrived")]
    page = world.page()
    send(world, page, "op")
    world.look(after_seconds=90)
    ask(world, ("op", 2))
    assert send(world, page, "op", 2).code == "IDEMPOTENCY_IN_PROGRESS"
    assert platform.posts == []
    assert send(world, page, "op", 3).status == "published"


def test_many_are_answered_together_each_as_it_stands(world: World) -> None:
    send(world, world.page(), "op_made")
    ask(world, ("op_b", 1), ("op_made", 1), ("op_a", 4))
    assert answers(world) == [("unit.returned", [("op_b", 1)]), ("unit.returned", [("op_a", 4)])]


def test_a_question_that_comes_twice_is_answered_alike(world: World) -> None:
    for _ in range(2):
        ask(world, ("op", 1))
    assert answers(world) == [("unit.returned", [("op", 1)])] * 2
