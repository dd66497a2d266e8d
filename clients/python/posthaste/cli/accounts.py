"""Commands about who you are: login, logout, whoami, pages."""

from __future__ import annotations

from typing import Any

import click

from posthaste import ApiError, AuthenticationError, Posthaste
from posthaste.cli import credentials, output
from posthaste.cli.session import Session, pass_session


@click.command()
@click.option("--email", help="Sign in with e-mail address and password, which is asked for.")
@pass_session
def login(session: Session, email: str | None) -> None:
    """Sign in: store the server's address and a token for later commands.

    Asks for an API token, or with --email for the password. Address and token are stored in a file that only you can
    read.
    """
    url = session.url or click.prompt("Address of the server", err=True)
    if email:
        password = click.prompt("Password", hide_input=True, err=True)
        token = _session_token(session.connect(url, None), email, password)
    else:
        token = session.token or click.prompt("API token", hide_input=True, err=True).strip()
    me = session.connect(url, token).get_me()
    credentials.store(credentials.Credentials(url=url, token=token))
    session.show(me, f"Signed in to {url} as {me.authenticated_as.email}.")


def _session_token(client: Posthaste, email: str, password: str) -> str:
    """Signs in and returns the session's token. Asks for an authenticator code only if the account needs one."""
    try:
        return client.log_in(email=email, password=password).session_token
    except AuthenticationError as error:
        if error.code != "TOTP_REQUIRED":
            raise
    code = click.prompt("Code of your authenticator app, or a recovery code", err=True).strip()
    return client.log_in(email=email, password=password, totp_code=code).session_token


@click.command()
@pass_session
def logout(session: Session) -> None:
    """Forget the stored token.

    If it is the token of a session, the session ends. An API token stays valid.
    """
    stored = credentials.load()
    ended = False
    if stored is not None:
        try:
            ended = session.connect(stored.url, stored.token).log_out().success
        except ApiError:  # an API token is no session, and an ended session needs no end
            pass
        finally:
            credentials.remove()
    session.show({"signed_out": stored is not None, "session_ended": ended}, "Signed out.")


@click.command()
@pass_session
def whoami(session: Session) -> None:
    """Show whose token is used, and what it may do."""
    me = session.client.get_me()
    user, key = me.authenticated_as, me.api_key
    rows = [
        ("user", user.email),
        ("name", f"{user.firstname} {user.lastname}".strip()),
        ("token", f"{key.name} ({key.prefix}…)"),
        ("scopes", key.scopes),
        ("expires", key.expires_at),
    ]
    session.show(me, output.facts(rows))


@click.command()
@click.option("--platform", help="Only pages of this platform, such as FB or linkedin.")
@pass_session
def pages(session: Session, platform: Any) -> None:
    """List the pages that you can post to."""
    found = list(session.client.iterate_pages(platform=platform, limit=100))
    header = ("ID", "PLATFORM", "NAME", "USERNAME", "BRAND", "CONNECTION")
    rows = [
        (
            page.id,
            page.platform,
            page.name,
            page.username,
            page.brand_name,
            "expired" if page.expired else "ok",
        )
        for page in found
    ]
    session.show(found, output.table(header, rows, "There is no page yet: connect one first."))


COMMANDS = (login, logout, whoami, pages)
