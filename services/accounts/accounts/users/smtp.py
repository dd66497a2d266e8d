"""Sends one mail through the operator's mail server, with a limit for each wait but not for the whole attempt."""

import smtplib
from contextlib import suppress
from email.message import EmailMessage
from email.utils import parseaddr

from accounts.config import SmtpConfig
from chassis.http.outbound import with_system_authorities

#: For connecting and for each answer. RFC 5321 (4.5.3.2) grants minutes, but a mail can simply be retried.
_WAIT_SECONDS = 15.0
#: Status codes from here on are permanent failures (RFC 5321 4.2.1).
_PERMANENT = 500


class MailDelayed(Exception):
    """Raised when the mail server has not accepted the mail; another attempt may succeed."""


class MailRefused(Exception):
    """Raised when the mail server permanently refuses this address."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def send(server: SmtpConfig, message: EmailMessage) -> None:
    """Sends a mail, and returns when the mail server has accepted it. Raises MailDelayed if another attempt may
    succeed, and MailRefused if the server permanently refuses the address.
    """
    try:
        _send(server, message)
    except smtplib.SMTPRecipientsRefused as error:
        status = max((status for status, _ in error.recipients.values()), default=0)
        if status >= _PERMANENT:
            raise MailRefused(status) from None
        raise MailDelayed(f"SMTP {status}") from None
    except smtplib.SMTPResponseException as error:
        raise MailDelayed(f"SMTP {error.smtp_code}") from None
    # ValueError: an address that smtplib cannot encode. Its text may quote the address: not reported.
    except (smtplib.SMTPException, OSError, ValueError) as error:
        raise MailDelayed(type(error).__name__) from None


def _send(server: SmtpConfig, message: EmailMessage) -> None:
    context = with_system_authorities()
    # Without a name, smtplib resolves one in C, which blocks every green thread.
    if server.security == "tls":
        connection: smtplib.SMTP = smtplib.SMTP_SSL(
            server.host, server.port, _own_name(server), timeout=_WAIT_SECONDS, context=context
        )
    else:
        connection = smtplib.SMTP(server.host, server.port, _own_name(server), timeout=_WAIT_SECONDS)
    try:
        if server.security == "starttls":
            connection.starttls(context=context)
        if server.username:
            connection.login(server.username, server.password)
        connection.send_message(message)
        with suppress(smtplib.SMTPException, OSError):  # the mail is accepted, whatever is answered now
            connection.quit()
    finally:
        connection.close()


def _own_name(server: SmtpConfig) -> str:
    """Returns the name with which we greet the mail server (EHLO): the domain of the sender's address."""
    return parseaddr(server.sender)[1].rpartition("@")[2] or "localhost"
