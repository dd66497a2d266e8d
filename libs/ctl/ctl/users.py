"""`user`: accounts and their tiers."""

import click

from contracts.accounts import ChangeTier, CreateUser
from contracts.plans import TIERS
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
    """Create a user. Prints the user and the sandbox token."""
    request = CreateUser(email=email, tier=tier, password=password, firstname=firstname, lastname=lastname)
    session.show(session.accounts.create_user(session.caller, request))


@user.command()
@click.argument("user_id")
@click.argument("tier", type=click.Choice(TIERS))
@pass_session
def plan(session: Session, user_id: str, tier: str) -> None:
    """Move USER_ID to another TIER, from the next request on."""
    session.show(session.accounts.change_tier(session.caller, ChangeTier(user_id=user_id, tier=tier)))
