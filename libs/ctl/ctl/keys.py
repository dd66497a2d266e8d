"""`keys`: those under which services keep secrets of others."""

import click

from contracts.keys import RotateKeys
from ctl.session import Session, pass_session

#: Who keeps secrets under keys: service → the setting that holds them, newest first.
SERVICES = {"publishing": "CREDENTIAL_KEYS", "webhooks": "WEBHOOK_SECRET_KEYS"}


@click.group()
def keys() -> None:
    """Encryption keys."""


@keys.command()
@click.argument("service", type=click.Choice(sorted(SERVICES)))
@pass_session
def rotate(session: Session, service: str) -> None:
    """Put everything that SERVICE keeps under the first of its keys.

    Afterwards an older key may go, unless something is named as unreadable. May be repeated and interrupted.
    """
    api = session.publishing if service == "publishing" else session.webhooks
    rotated, after = 0, ""
    unreadable: list[str] = []
    while True:
        answer = api.rotate_keys(session.caller, RotateKeys(after=after))
        rotated += answer.rotated
        unreadable += answer.unreadable
        if answer.next is None:
            break
        after = answer.next
    session.show({"service": service, "rotated": rotated, "unreadable": unreadable})
