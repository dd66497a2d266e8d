"""Tells the quota service which operations made nothing, so that it gives their units back."""

import structlog

from chassis.bus.outbox import Staging, stage_all
from contracts.events import UnitReturned, UnitsUnconfirmed, UnitsUndecided
from publishing.store import Connection
from publishing.store.operations import PostOperations

log = structlog.get_logger()


def confirm(connection: Connection, asked: UnitsUnconfirmed) -> None:
    """Tells the quota service which of these operations made nothing, so that it gives their units back. First voids
    the tries in `asked`, so that they can make nothing later.

    Stages one event for each operation that made nothing. Stages one event that lists all operations whose post or
    reply is being sent or looked up; the quota service asks about these again. The other operations made a post or
    reply: they get no event, and their units stay used.
    """
    voided = PostOperations(connection).void([(one.operation_id, one.try_number) for one in asked.charges])
    answers = [
        Staging(
            "unit.returned",
            UnitReturned(operation_id=one.operation_id, try_number=one.try_number),
            account_id=one.account_id,
        )
        for one in asked.charges
        if one.operation_id in voided.nothing
    ]
    undecided = tuple(one for one in asked.charges if one.operation_id in voided.undecided)
    if undecided:
        answers.append(Staging("units.undecided", UnitsUndecided(charges=undecided), account_id=""))
    stage_all(connection, answers)
    if answers:
        log.info(
            "units_not_used", returned=len(voided.nothing), undecided=len(undecided), asked=len(asked.charges)
        )
