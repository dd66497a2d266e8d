"""`collaborator`: who else works on a brand."""

import click

from contracts.accounts import RemoveCollaborator, SetCollaborator
from ctl.session import Session, pass_session


@click.group()
def collaborator() -> None:
    """Collaborators of a brand."""


@collaborator.command()
@click.option("--brand", "brand_id", required=True, help="The brand.")
@click.option("--user", "user_id", required=True, help="The collaborator.")
@click.option("--role", type=click.Choice(["full", "limited"]), required=True, help="full may issue tokens.")
@pass_session
def add(session: Session, brand_id: str, user_id: str, role: str) -> None:
    """Add a collaborator; again with another role changes it. Their tokens work with full access alone."""
    request = SetCollaborator(brand_id=brand_id, user_id=user_id, role=role)
    session.show(session.accounts.set_collaborator(session.caller, request))


@collaborator.command()
@click.option("--brand", "brand_id", required=True, help="The brand.")
@click.option("--user", "user_id", required=True, help="The collaborator.")
@click.option("--keep", is_flag=True, help="Leave their subscriptions active and their posts queued.")
@pass_session
def remove(session: Session, brand_id: str, user_id: str, keep: bool) -> None:
    """Remove a collaborator; every token they issued for the brand is revoked at once. Their subscriptions of the brand
    are disabled, and their queued posts are held until somebody releases or cancels them."""
    request = RemoveCollaborator(brand_id=brand_id, user_id=user_id, keep=keep)
    session.accounts.remove_collaborator(session.caller, request)
    session.show({"brand_id": brand_id, "user_id": user_id, "removed": True, "kept": keep})
