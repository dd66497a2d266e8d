"""`service list`: shows which services answer, and why the other ones do not.

GET /readyz only says whether all services answer.
"""

import click

from chassis.bus.pending import PendingCall, reason_of
from contracts.errors import ApiError
from contracts.services import SERVICES
from ctl.session import Session, pass_session

#: How long all services together have to answer: longer than connecting takes.
_SECONDS = 5.0


@click.group()
def service() -> None:
    """The services behind the API."""


@service.command("list")
@click.pass_context
@pass_session
def list_(session: Session, ctx: click.Context) -> None:
    """List the services, and whether each and its database answer. Exits with 1 when one does not."""
    pings = {name: session.bus.start_ping(name, _SECONDS) for name in SERVICES}
    rows = [_row(name, ping) for name, ping in pings.items()]
    session.show_all(rows, ("service", "answers", "reason"))
    if not all(row["answers"] for row in rows):
        ctx.exit(1)


def _row(name: str, ping: PendingCall) -> dict[str, object]:
    try:
        ping.result()
    except ApiError as error:
        return {"service": name, "answers": False, "reason": reason_of(error)}
    return {"service": name, "answers": True, "reason": None}
