"""Tells quota which operations made nothing, so that they use no unit of the month's quota."""

import structlog

from chassis.bus.outbox import Staging, stage_all
from contracts.events import UnitReturned, UnitsUnconfirmed, UnitsUndecided
from publishing.store import Connection
from publishing.store.operations import PostOperations

log = structlog.get_logger()


def confirm(connection: Connection, asked: UnitsUnconfirmed) -> None:
    """Answers quota's question which operations made nothing, by events: quota gives their units back. First voids the
    tries that quota asks about, so that they can make nothing later.

    An operation whose post or reply is being sent or looked up is undecided: quota asks about it again. All other
    operations have made a post or a reply: they get no event, and their units stay used.
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
