"""Sends the mails of the table `mails`, and has their texts. They hold no link, or one that is stored elsewhere.

Claim, send, delete, as for verification mails: a mail is sent at least once, with the same Message-ID each time.
"""

from collections.abc import Callable
from email.message import EmailMessage

import msgspec

from accounts import access, derived_secrets
from accounts.config import AccountsConfig, SmtpConfig
from accounts.store import Connection
from accounts.store.mails import DueMail, MailStore
from accounts.users import mails, smtp
from chassis.db.database import Database
from chassis.runtime.loops import Waker
from contracts.errors import ApiError
from contracts.events import ConnectRefused, Event
from contracts.platforms import PLATFORMS

#: Wakes the loop that runs `send_next`.
DUE = Waker()
#: How long a mail is tried: as long as an unverified account waits for its own.
DAYS = 7

_CONNECT_REFUSED = """\
A login at %(platform)s came back to your account at {host} in another browser than the one that began it.
No page was connected.

If you sent somebody a link to connect a page, ask them to open it and log in within one browser.

If you did not, somebody may be using your account: look at your sessions and tokens, and end those that you do not
know. {host} never asks you for a password by mail.
"""


_INVITATION = """\
Somebody with an account at {host} invites you to work on a brand there. See who it is and which brand, and accept or
ignore it, within %(days)s days:

%(link)s

The link works once. If you have no account at {host} with this e-mail address, you make one on that page. Whoever
opens the link can accept in your place: do not pass it on.
"""


_EMAIL_CHANGE = """\
Somebody, probably you, wants to use this e-mail address for an account at {host}.

If it was you, confirm it within a day. You are asked for the password of the account, and the link works once:

%(link)s

If it was not you, do nothing: the address is not used.
"""


_EMAIL_CHANGE_ASKED = """\
Somebody, probably you, asked for another e-mail address for your account at {host}. Nothing changes before that address
is confirmed.

If it was not you, somebody knows your password: choose a new one now. Then the other address cannot be confirmed, and
all other devices are signed out. {host} never asks you for a password by mail.
"""


_EMAIL_CHANGED = """\
Your account at {host} has another e-mail address now. Sign in with that one, and with the password that you had.

If it was not you, write to the operator of {host}: this address no longer opens the account.
"""


class Kind(msgspec.Struct, frozen=True):
    subject: str
    #: The text, from the settings and the row.
    write: Callable[[AccountsConfig, DueMail], str]


def _connect_refused(_config: AccountsConfig, mail: DueMail) -> str:
    return _CONNECT_REFUSED % mail.details


def _invitation(config: AccountsConfig, mail: DueMail) -> str:
    return _INVITATION % {"days": DAYS, "link": invitation_link(config, mail.details["invitation_id"])}


def _email_change(config: AccountsConfig, mail: DueMail) -> str:
    return _EMAIL_CHANGE % {"link": email_link(config, mail.details["change_id"])}


#: What `mails.kind` may be.
KINDS: dict[str, Kind] = {
    "connect_refused": Kind("Somebody tried to connect a page to your account at {host}", _connect_refused),
    "email_change": Kind("Confirm this e-mail address at {host}", _email_change),
    "email_change_asked": Kind(
        "Somebody asked for another e-mail address at {host}", lambda _config, _mail: _EMAIL_CHANGE_ASKED
    ),
    "email_changed": Kind(
        "Your account at {host} has another e-mail address", lambda _config, _mail: _EMAIL_CHANGED
    ),
    "invitation": Kind("You are invited to work on a brand at {host}", _invitation),
}


def invitation_link(config: AccountsConfig, invitation_id: str) -> str:
    """Returns the link with which an invitation is accepted.

    It leads to a web page of the API, not of the dashboard.
    """
    code = derived_secrets.invitation_code(config, invitation_id)
    return f"{config.public_url}/auth/invitations/{invitation_id}/{code}"


def email_link(config: AccountsConfig, change_id: str) -> str:
    """Returns the link with which a change of the e-mail address is confirmed."""
    return f"{config.link_prefix}/email/{change_id}/{derived_secrets.email_code(config, change_id)}"


def queue_connect_refused(connection: Connection, event: Event) -> None:
    """Queues a mail that warns the account's owner: a login that connects a page came back in another browser."""
    refused = msgspec.convert(event.data, ConnectRefused)
    try:
        owner = access.account(connection, event.account_id)
    except ApiError:  # deleted meanwhile
        return
    details = {"platform": PLATFORMS[refused.platform].title}
    MailStore(connection).add(
        f"{refused.session_id}.refused", "connect_refused", email=owner.email, details=details, days=DAYS
    )


def send_next(database: Database, config: AccountsConfig, send: mails.Send = smtp.send) -> int:
    """Sends the mail that has been due for longest. Returns 1 if the mail server accepted or permanently refused it."""
    if config.smtp is None:
        return 0  # mails wait for a mail server until they expire
    with database.reading() as connection:
        mail = MailStore(connection).claim(mails.FIRST_WAIT_SECONDS)
    if mail is None:
        return 0
    made = message(config, config.smtp, mail)
    if not mails.attempt(config.smtp, made, send, kind=mail.kind, attempts=mail.attempts, of=mail.id):
        return 0
    with database.reading() as connection:
        MailStore(connection).delete(mail.id)
    return 1


def message(config: AccountsConfig, server: SmtpConfig, mail: DueMail) -> EmailMessage:
    kind = KINDS[mail.kind]
    return mails.compose(
        config, server, to=mail.email, subject=kind.subject, text=kind.write(config, mail), name=mail.id
    )


def forget(connection: Connection) -> None:
    """Deletes mails that could not be sent in time."""
    MailStore(connection).delete_expired()
