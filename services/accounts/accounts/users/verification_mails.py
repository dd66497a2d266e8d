"""Builds the verification mails and sends those that are due.

Claim, send, delete: no transaction is open during the SMTP session, and the time of the next attempt is stored before
it. If the process dies in between, another one sends the mail: at worst a second mail with the same link arrives.
"""

from email.message import EmailMessage

from accounts.config import AccountsConfig, SmtpConfig
from accounts.store.verification_mails import DueMail, VerificationMailStore
from accounts.users import mails, smtp
from accounts.users.verification import UNVERIFIED_DAYS, link_of
from chassis.db.database import Database
from chassis.runtime.loops import Waker

#: Wakes the loop that runs `send_next`.
DUE = Waker()

_TEXT = f"""\
Somebody, probably you, signed up for an account at {{host}} with this e-mail address.

If it was you, confirm the address here. You will be asked for the password that you chose:

%s

If it was not you, open the same address and delete the account, or do nothing: the account cannot be used and
is deleted after {UNVERIFIED_DAYS} days. {{host}} never asks you for a password by mail.
"""


def send_next(database: Database, config: AccountsConfig, send: mails.Send = smtp.send) -> int:
    """Sends the mail that has been due for longest. Returns 1 if the mail server accepted or permanently refused it."""
    if config.smtp is None:
        return 0  # mails stay queued until a mail server is configured; the operator may verify meanwhile
    with database.reading() as connection:
        mail = VerificationMailStore(connection).claim(mails.FIRST_WAIT_SECONDS)
    if mail is None:
        return 0
    made = message(config, config.smtp, mail)
    if not mails.attempt(
        config.smtp, made, send, kind="verification", attempts=mail.attempts, of=mail.user_id
    ):
        return 0
    with database.reading() as connection:
        VerificationMailStore(connection).delete(mail.user_id)
    return 1


def message(config: AccountsConfig, server: SmtpConfig, mail: DueMail) -> EmailMessage:
    return mails.compose(
        config,
        server,
        to=mail.email,
        subject="Confirm your e-mail address for {host}",
        text=_TEXT % link_of(config, mail.user_id),
        name=f"{mail.user_id}.verification",
    )
