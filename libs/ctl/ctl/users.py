"""`user`: accounts and their tiers."""

import click

from contracts.accounts import ChangeTier, CreateUser, InviteUser, UserId
from contracts.plans import TIERS
from contracts.record import Nothing
from ctl.session import Session, pass_session


@click.group()
def user() -> None:
    """Users: each is an account with a tier."""


@user.command()
@click.option("--email", required=True, help="The address; one account each, whatever its case.")
@click.option("--tier", type=click.Choice(TIERS), required=True, help="The plan.")
@click.option("--password", help="At least 8 characters; without one the user cannot sign in.")
@click.option("--firstname", default="", help="First name.")
@click.option("--lastname", default="", help="Last name.")
@pass_session
def create(
    session: Session, email: str, tier: str, password: str | None, firstname: str, lastname: str
) -> None:
    """Create a user, whose address counts as verified. Prints the user and the sandbox token.

    An unverified sign-up with the same address is deleted with its token; its id is then printed as voided_user_id.
    """
    request = CreateUser(email=email, tier=tier, password=password, firstname=firstname, lastname=lastname)
    session.show(session.accounts.create_user(session.caller, request))


@user.command()
@click.argument("user_id")
@click.argument("tier", type=click.Choice(TIERS))
@pass_session
def plan(session: Session, user_id: str, tier: str) -> None:
    """Move USER_ID to another TIER, from the next request on."""
    session.show(session.accounts.change_tier(session.caller, ChangeTier(user_id=user_id, tier=tier)))


@user.command()
@click.argument("email")
@pass_session
def invite(session: Session, email: str) -> None:
    """Let EMAIL sign up once. Prints the code, for `invite_code` in POST /auth/signup.

    Give it to nobody but the owner of the address: the account that it opens counts as verified.
    """
    session.show(session.accounts.invite_user(session.caller, InviteUser(email=email)))


@user.command()
@pass_session
def unverified(session: Session) -> None:
    """List the sign-ups whose address nobody has verified, newest first."""
    found = session.accounts.list_unverified(session.caller, Nothing())
    session.show_all(found.users, ("id", "email", "created_at"))


@user.command()
@click.argument("user_id")
@pass_session
def verify(session: Session, user_id: str) -> None:
    """Confirm the address of USER_ID, where no mail can do it.

    Ask the owner of the address for the id that the sign-up answered: somebody else may have signed up with it.
    """
    session.show(session.accounts.verify_user(session.caller, UserId(user_id=user_id)))
