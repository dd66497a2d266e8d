"""`user`: accounts and their tiers."""

from collections.abc import Iterator

import click

from contracts.accounts import ChangeTier, CreateUser, InviteUser, ListUsers, MakeResetLink, User, UserId
from contracts.plans import TIERS
from contracts.record import Nothing
from ctl.session import Session, pass_session


@click.group()
def user() -> None:
    """Users. Each user is an account with a tier."""


@user.command()
@click.option("--email", required=True, help="E-mail address. One account per address; case is ignored.")
@click.option("--tier", type=click.Choice(TIERS), required=True, help="The account's tier.")
@click.option("--password", help="At least 8 characters. Without a password the user cannot sign in.")
@click.option("--firstname", default="", help="First name.")
@click.option("--lastname", default="", help="Last name.")
@pass_session
def create(
    session: Session, email: str, tier: str, password: str | None, firstname: str, lastname: str
) -> None:
    """Create a user with a verified address. Prints the user and the sandbox token.

    Deletes an unverified sign-up with the same address, and its token. Prints the deleted account's id as
    voided_user_id.
    """
    request = CreateUser(email=email, tier=tier, password=password, firstname=firstname, lastname=lastname)
    session.show(session.accounts.create_user(session.caller, request))


@user.command("list")
@click.option("--email", help="Only the user with this address.")
@pass_session
def list_(session: Session, email: str | None) -> None:
    """List all users, newest first."""
    session.show_all(_users(session, email), ("id", "email", "tier", "verified", "created_at"))


def _users(session: Session, email: str | None) -> Iterator[User]:
    cursor: str | None = None
    while True:
        found = session.accounts.list_users(session.caller, ListUsers(email=email, limit=100, cursor=cursor))
        yield from found.users
        cursor = found.next_cursor
        if cursor is None:
            return


@user.command()
@click.argument("user_id")
@click.argument("tier", type=click.Choice(TIERS))
@pass_session
def plan(session: Session, user_id: str, tier: str) -> None:
    """Change the tier of USER_ID. It applies from the next request on."""
    session.show(session.accounts.change_tier(session.caller, ChangeTier(user_id=user_id, tier=tier)))


@user.command()
@click.argument("email")
@pass_session
def invite(session: Session, email: str) -> None:
    """Invite EMAIL to sign up once. Prints the code, for `invite_code` in POST /auth/signup.

    Give the code only to the owner of the address: an account created with it counts as verified.
    """
    session.show(session.accounts.invite_user(session.caller, InviteUser(email=email)))


@user.command()
@pass_session
def unverified(session: Session) -> None:
    """List sign-ups with an unverified address, newest first."""
    found = session.accounts.list_unverified(session.caller, Nothing())
    session.show_all(found.users, ("id", "email", "created_at"))


@user.command()
@click.argument("user_id")
@pass_session
def verify(session: Session, user_id: str) -> None:
    """Verify the address of USER_ID by hand. Use this command if no mail can be sent.

    Get the id from the owner of the address, who got it at the sign-up: somebody else may have signed up with the
    address too.
    """
    session.show(session.accounts.verify_user(session.caller, UserId(user_id=user_id)))


@user.command("verification-link")
@click.argument("user_id")
@pass_session
def verification_link(session: Session, user_id: str) -> None:
    """Print the link with which the owner of the address verifies USER_ID. Use this command if no mail can be sent.

    The page also asks for the password of the sign-up. Give the link only to the owner of the address.
    """
    session.show(session.accounts.make_verification_link(session.caller, UserId(user_id=user_id)))


@user.command("totp-off")
@click.argument("user_id")
@pass_session
def totp_off(session: Session, user_id: str) -> None:
    """Turn off the second factor of USER_ID, who has lost the authenticator app and the recovery codes.

    Make sure first that you talk to the owner of the account: the password alone is enough to sign in afterwards.
    """
    session.show(session.accounts.turn_off_totp(session.caller, UserId(user_id=user_id)))


@user.command("email-link")
@click.argument("user_id")
@pass_session
def email_link(session: Session, user_id: str) -> None:
    """Print the link that confirms the new address of USER_ID. Use this command if no mail can be sent.

    The owner asks for the change first. The link works once and for a day, and still needs the password. Give it only
    to the owner of the new address.
    """
    session.show(session.accounts.make_email_link(session.caller, UserId(user_id=user_id)))


@user.command("reset-link")
@click.argument("email")
@pass_session
def reset_link(session: Session, email: str) -> None:
    """Print a link with which the owner of EMAIL chooses a new password. Use this command if no mail can be sent.

    The link works once and for an hour, and ends every session of the account. Give it only to the owner of the
    address.
    """
    session.show(session.accounts.make_reset_link(session.caller, MakeResetLink(email=email)))
