"""`collaborator`: people who work on a brand of another account."""

import click

from contracts.accounts import MakeInvitationLink, RemoveCollaborator, SetCollaborator
from ctl.session import Session, pass_session


@click.group()
def collaborator() -> None:
    """Collaborators of a brand."""


@collaborator.command()
@click.option("--brand", "brand_id", required=True, help="Id of the brand.")
@click.option("--user", "user_id", required=True, help="Id of the collaborator's account.")
@click.option(
    "--role",
    type=click.Choice(["full", "limited"]),
    required=True,
    help="limited: posts, comments, files; full: also pages, credits, tokens.",
)
@pass_session
def add(session: Session, brand_id: str, user_id: str, role: str) -> None:
    """Add a collaborator, or change their role. Tokens that they issued for the brand work only while their role is
    full.
    """
    request = SetCollaborator(brand_id=brand_id, user_id=user_id, role=role)
    session.show(session.accounts.set_collaborator(session.caller, request))


@collaborator.command()
@click.option("--brand", "brand_id", required=True, help="Id of the brand.")
@click.option("--user", "user_id", required=True, help="Id of the collaborator's account.")
@click.option("--keep", is_flag=True, help="Keep their webhook subscriptions active and their posts queued.")
@pass_session
def remove(session: Session, brand_id: str, user_id: str, keep: bool) -> None:
    """Remove a collaborator, and revoke every token that they issued for the brand.

    Unless --keep is given, their webhook subscriptions for the brand are disabled, and their queued posts are held
    until they are released or cancelled.
    """
    request = RemoveCollaborator(brand_id=brand_id, user_id=user_id, keep=keep)
    session.accounts.remove_collaborator(session.caller, request)
    session.show({"brand_id": brand_id, "user_id": user_id, "removed": True, "kept": keep})


@collaborator.command("invitation-link")
@click.option("--brand", "brand_id", required=True, help="Id of the brand.")
@click.option("--email", required=True, help="The invited address.")
@pass_session
def invitation_link(session: Session, brand_id: str, email: str) -> None:
    """Print the link of an invitation that the owner of the brand has made. Use this command if no mail can be sent.

    The link works once and for a week. Give it only to the owner of the address.
    """
    request = MakeInvitationLink(brand_id=brand_id, email=email)
    session.show(session.accounts.make_invitation_link(session.caller, request))
