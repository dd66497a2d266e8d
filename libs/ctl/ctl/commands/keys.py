"""`keys`: the encryption keys of stored secrets."""

import click

from contracts.keys import RotateKeys
from ctl.session import Session, pass_session

#: Service → the setting that holds its encryption keys, newest first.
SERVICES = {"publishing": "CREDENTIAL_KEYS", "webhooks": "WEBHOOK_SECRET_KEYS"}


@click.group()
def keys() -> None:
    """The encryption keys of stored secrets."""


@keys.command()
@click.argument("service", type=click.Choice(sorted(SERVICES)))
@pass_session
def rotate(session: Session, service: str) -> None:
    """Encrypt all stored secrets of SERVICE again with the first key in the service's settings.

    Afterwards you can remove older keys, unless ids are listed as unreadable. The command may be interrupted and
    repeated.
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
