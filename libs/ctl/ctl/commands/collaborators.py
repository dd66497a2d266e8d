"""`collaborator`: people who work on a brand of another account."""

import click

from contracts.accounts import RemoveCollaborator, SetCollaborator
from ctl.session import Session, pass_session


@click.group()
def collaborator() -> None:
    """Collaborators of a brand."""


@collaborator.command()
@click.option("--brand", "brand_id", required=True, help="Id of the brand.")
@click.option("--user", "user_id", required=True, help="Id of the collaborator's account.")
@click.option(
    "--role", type=click.Choice(["full", "limited"]), required=True, help="Only full may issue tokens."
)
@pass_session
def add(session: Session, brand_id: str, user_id: str, role: str) -> None:
    """Add a collaborator, or change their role. Tokens that they issued work only while their role is full."""
    request = SetCollaborator(brand_id=brand_id, user_id=user_id, role=role)
    session.show(session.accounts.set_collaborator(session.caller, request))


@collaborator.command()
@click.option("--brand", "brand_id", required=True, help="Id of the brand.")
@click.option("--user", "user_id", required=True, help="Id of the collaborator's account.")
@click.option("--keep", is_flag=True, help="Keep their webhook subscriptions active and their posts queued.")
@pass_session
def remove(session: Session, brand_id: str, user_id: str, keep: bool) -> None:
    """Remove a collaborator, and revoke every token that they issued for the brand.

    Their webhook subscriptions for the brand are disabled. Their queued posts are held until they are released or
    cancelled.
    """
    request = RemoveCollaborator(brand_id=brand_id, user_id=user_id, keep=keep)
    session.accounts.remove_collaborator(session.caller, request)
    session.show({"brand_id": brand_id, "user_id": user_id, "removed": True, "kept": keep})
