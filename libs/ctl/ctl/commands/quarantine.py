"""`quarantine`: messages that no service could handle."""

import click

from chassis.bus import quarantine as chassis_quarantine
from contracts.errors import NOT_FOUND, ApiError
from ctl.session import Session, pass_session


@click.group()
def quarantine() -> None:
    """Messages that no service could handle: malformed, or failed repeatedly."""


@quarantine.command("list")
@pass_session
def list_(session: Session) -> None:
    """List the messages in quarantine, with the error and the queue of each."""
    found = chassis_quarantine.list_quarantined(session.config.amqp_url)
    session.show_all(found, ("id", "quarantined_at", "queue", "size_bytes", "error"))


@quarantine.command()
@click.argument("quarantine_id", metavar="ID")
@pass_session
def replay(session: Session, quarantine_id: str) -> None:
    """Send the message with this ID back to its original queue."""
    if not chassis_quarantine.replay(session.config.amqp_url, quarantine_id):
        raise ApiError(NOT_FOUND, "There is no such message in quarantine.")
    session.show({"id": quarantine_id, "replayed": True})
