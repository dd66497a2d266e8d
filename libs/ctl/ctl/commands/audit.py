"""`audit`: the audit log of a brand."""

import click

from contracts.accounts import ListAudit
from ctl.session import Session, pass_session


@click.group()
def audit() -> None:
    """The audit log of a brand."""


@audit.command("list")
@click.option("--brand", "brand_id", required=True, help="Id of the brand.")
@pass_session
def list_(session: Session, brand_id: str) -> None:
    """List what changed about collaborators and their tokens, and what the operator did, newest first."""
    log = session.accounts.list_audit(session.caller, ListAudit(brand_id=brand_id))
    session.show_all(log.entries, ("created_at", "actor_id", "action", "subject_id", "details"))
