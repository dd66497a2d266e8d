"""The mails with verification links: their words, and sending those that are due.

Claim, send, delete: no transaction is open while the mail server is spoken to, and the next attempt is set before. A
process that dies in between leaves the mail to whichever comes next, and the worst is a second mail with the same link.
"""

from collections.abc import Callable
from email.message import EmailMessage
from email.utils import formatdate
from urllib.parse import urlsplit

import structlog

from accounts import derived_secrets
from accounts.config import AccountsConfig, SmtpConfig
from accounts.store.verification_mails import DueMail, VerificationMailStore
from accounts.users import smtp
from accounts.users.verification import UNVERIFIED_DAYS
from chassis.db.database import Database

log = structlog.get_logger()

#: After which an attempt is ended, however slowly the mail server speaks. Our choice.
ATTEMPT_SECONDS = 45.0
#: Between the first attempt and the second; longer than an attempt lasts.
_FIRST_WAIT_SECONDS = 60.0

_TEXT = """\
Somebody, probably you, signed up for an account at {host} with this e-mail address.

If it was you, confirm the address here. You are asked for the password that you chose:

{link}

If it was not you, open the same address and delete the account, or do nothing: it is deleted by itself
after {days} days, and can do nothing until then. Nobody of {host} asks you for a password by mail.
"""


def send_next(
    database: Database, config: AccountsConfig, send: Callable[[SmtpConfig, EmailMessage], None] = smtp.send
) -> int:
    """Sends the mail that has been due for longest. Returns how many the mail server has taken or refused for good."""
    if config.smtp is None:
        return 0  # they wait, in case a mail server is set up later; the operator may confirm meanwhile
    with database.reading() as connection:
        mail = VerificationMailStore(connection).claim(_FIRST_WAIT_SECONDS)
    if mail is None:
        return 0
    try:
        send(config.smtp, message(config, config.smtp, mail))
    except smtp.MailRefused as error:
        log.error("verification_mail_refused", user_id=mail.user_id, status=error.status)
    except smtp.MailDelayed as error:
        log.warning(
            "verification_mail_delayed", user_id=mail.user_id, attempts=mail.attempts, reason=str(error)
        )
        return 0
    with database.reading() as connection:
        VerificationMailStore(connection).delete(mail.user_id)
    return 1


def message(config: AccountsConfig, server: SmtpConfig, mail: DueMail) -> EmailMessage:
    """Plain text, without a word that the person who signed up could choose: we send no stranger's advertisements."""
    host = urlsplit(config.public_url).hostname or ""
    code = derived_secrets.verification_code(config, mail.user_id)
    made = EmailMessage()
    made["From"] = server.sender
    made["To"] = mail.email
    made["Subject"] = f"Confirm your e-mail address for {host}"
    made["Date"] = formatdate()
    # The same for every attempt: mail programs show a repetition once.
    made["Message-ID"] = f"<{mail.user_id}.verification@{host}>"
    made["Auto-Submitted"] = "auto-generated"  # RFC 3834: no out-of-office answers
    link = f"{config.public_url}/auth/verify/{mail.user_id}/{code}"
    made.set_content(_TEXT.format(host=host, link=link, days=UNVERIFIED_DAYS))
    return made
