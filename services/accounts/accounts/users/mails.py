"""The mails that the service `accounts` sends: their texts, and the queue (table `mails`) from which they are sent.

A mail is claimed, then sent, then deleted. No transaction is open while it is sent, and the time of the next attempt is
stored before. If the process dies in between, another one sends the mail: at worst a second mail with the same
Message-ID and link arrives. No link is stored, because its code is derived.

The person who causes a mail chooses nothing in it, so that nobody can send texts of their own through us.
"""

from collections.abc import Callable
from email.message import EmailMessage
from email.utils import formatdate
from urllib.parse import urlsplit

import msgspec
import structlog

from accounts import access, derived_secrets
from accounts.config import AccountsConfig, SmtpConfig
from accounts.store import Connection
from accounts.store.mails import DueMail, MailStore
from accounts.store.password_resets import PasswordResetStore
from accounts.store.users import UserStore
from accounts.users import smtp
from chassis.db.database import Database
from chassis.runtime.loops import Waker
from contracts.accounts import User
from contracts.errors import ApiError
from contracts.events import ConnectRefused, Event
from contracts.platforms import PLATFORMS

log = structlog.get_logger()

Send = Callable[[SmtpConfig, EmailMessage], None]

#: An attempt ends after this, however slow the mail server is, so that other mails are not held up.
ATTEMPT_SECONDS = 45.0
#: Wait between the first attempt and the second; longer than one attempt.
FIRST_WAIT_SECONDS = 60.0
#: Wakes the loop that runs `send_next`.
DUE = Waker()
#: How long a mail is tried: as long as an unverified account waits for its own.
DAYS = 7

_VERIFICATION = """\
Somebody, probably you, signed up for an account at {host} with this e-mail address.

If it was you, confirm the address here. You will be asked for the password that you chose:

%(link)s

If it was not you, open the same address and delete the account, or do nothing: the account cannot be used and
is deleted after %(days)s days. {host} never asks you for a password by mail.
"""


_RESET = """\
Somebody, probably you, asked for a new password for the account at {host} with this e-mail address.

If it was you, choose it here within an hour. The link works once, and all devices are signed out:

%(link)s

If it was not you, do nothing: the password stays as it is. {host} never asks you for a password by mail.
"""


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
    """The text of one kind of mail. `{host}` in subject and text becomes our host name."""

    subject: str
    text: str
    #: Returns what the text names, from the settings and the row.
    fill: Callable[[AccountsConfig, DueMail], dict[str, object]] = lambda _config, mail: dict(mail.details)
    #: Whether the mail is still of use when it is to be sent.
    is_wanted: Callable[[Connection, DueMail], bool] = lambda _connection, _mail: True


def _is_unverified(connection: Connection, mail: DueMail) -> bool:
    user = UserStore(connection).find(mail.details["user_id"])
    return user is not None and not user.verified


def _has_account(connection: Connection, mail: DueMail) -> bool:
    """Whether the reset link of a mail still works and there is a verified account with the mail's address."""
    if PasswordResetStore(connection).find(mail.details["reset_id"]) is None:
        return False
    user = UserStore(connection).find_by_email(mail.email)
    return user is not None and user.verified


#: What `mails.kind` may be.
KINDS: dict[str, Kind] = {
    "connect_refused": Kind("Somebody tried to connect a page to your account at {host}", _CONNECT_REFUSED),
    "email_change": Kind(
        "Confirm this e-mail address at {host}",
        _EMAIL_CHANGE,
        lambda config, mail: {"link": email_link(config, mail.details["change_id"])},
    ),
    "email_change_asked": Kind("Somebody asked for another e-mail address at {host}", _EMAIL_CHANGE_ASKED),
    "email_changed": Kind("Your account at {host} has another e-mail address", _EMAIL_CHANGED),
    "invitation": Kind(
        "You are invited to work on a brand at {host}",
        _INVITATION,
        lambda config, mail: {"days": DAYS, "link": invitation_link(config, mail.details["invitation_id"])},
    ),
    "reset": Kind(
        "Choose a new password for {host}",
        _RESET,
        lambda config, mail: {"link": reset_link(config, mail.details["reset_id"])},
        _has_account,
    ),
    "verification": Kind(
        "Confirm your e-mail address for {host}",
        _VERIFICATION,
        lambda config, mail: {"days": DAYS, "link": verification_link(config, mail.details["user_id"])},
        _is_unverified,
    ),
}


def invitation_link(config: AccountsConfig, invitation_id: str) -> str:
    """Returns the link with which an invitation is accepted."""
    code = derived_secrets.invitation_code(config, invitation_id)
    return f"{config.link_prefix}/invitations/{invitation_id}/{code}"


def email_link(config: AccountsConfig, change_id: str) -> str:
    """Returns the link with which a change of the e-mail address is confirmed."""
    return f"{config.link_prefix}/email/{change_id}/{derived_secrets.email_code(config, change_id)}"


def reset_link(config: AccountsConfig, reset_id: str) -> str:
    """Returns the link with which a new password is chosen."""
    return f"{config.link_prefix}/reset/{reset_id}/{derived_secrets.reset_code(config, reset_id)}"


def verification_link(config: AccountsConfig, user_id: str) -> str:
    """Returns the link with which the user verifies their e-mail address."""
    return f"{config.link_prefix}/verify/{user_id}/{derived_secrets.verification_code(config, user_id)}"


def queue_verification(connection: Connection, user: User) -> None:
    """Queues the mail with which a new account is verified, unless it is queued already."""
    MailStore(connection).add_verification(user.id, user.email, days=DAYS)


def queue_connect_refused(connection: Connection, event: Event) -> None:
    """Queues a mail that warns the account's owner: somebody began to connect a page, and the platform's login came
    back in another browser.
    """
    refused = msgspec.convert(event.data, ConnectRefused)
    try:
        owner = access.account(connection, event.account_id)
    except ApiError:  # deleted meanwhile
        return
    details = {"platform": PLATFORMS[refused.platform].title}
    MailStore(connection).add(
        f"{refused.session_id}.refused", "connect_refused", email=owner.email, details=details, days=DAYS
    )


def send_next(database: Database, config: AccountsConfig, send: Send = smtp.send) -> int:
    """Sends the mail that has been due for longest.

    Returns 1 if a mail needs no further attempt: it was accepted, refused for good, or is no longer needed. Returns 0
    if none is due, if another attempt is needed, or if no mail server is configured.
    """
    server = config.smtp
    if server is None:  # mails wait until they expire; the operator prints their links meanwhile
        return 0
    with database.reading() as connection:
        mail = MailStore(connection).claim(FIRST_WAIT_SECONDS)
        is_wanted = mail is not None and KINDS[mail.kind].is_wanted(connection, mail)
    if mail is None:
        return 0
    if is_wanted:
        try:
            send(server, message(config, server, mail))
        except smtp.MailRefused as error:
            log.error(f"{mail.kind}_mail_refused", of=mail.id, status=error.status)  # never the address
        except smtp.MailDelayed as error:
            log.warning(f"{mail.kind}_mail_delayed", of=mail.id, attempts=mail.attempts, reason=str(error))
            return 0
    with database.reading() as connection:
        MailStore(connection).delete(mail.id)
    return 1


def message(config: AccountsConfig, server: SmtpConfig, mail: DueMail) -> EmailMessage:
    kind, host = KINDS[mail.kind], host_of(config)
    made = EmailMessage()
    made["From"] = server.sender
    made["To"] = mail.email
    made["Subject"] = kind.subject.format(host=host)
    made["Date"] = formatdate()
    # The same for every attempt: mail clients show a duplicate once.
    made["Message-ID"] = f"<{mail.id}@{host}>"
    made["Auto-Submitted"] = "auto-generated"  # RFC 3834: no out-of-office answers
    made.set_content(kind.text.format(host=host) % kind.fill(config, mail))
    return made


def host_of(config: AccountsConfig) -> str:
    return urlsplit(config.public_url).hostname or ""


def forget(connection: Connection) -> None:
    """Deletes mails that have expired before they could be sent."""
    MailStore(connection).delete_expired()
