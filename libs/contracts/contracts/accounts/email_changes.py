"""Messages about another e-mail address for an account."""

from datetime import datetime

from contracts.record import Record


class ChangeEmail(Record):
    """Asks for a link to the new address. Nothing changes before it is confirmed."""

    email: str
    password: str
    #: A code of the authenticator app or a recovery code, if the account asks for one.
    totp_code: str | None = None


class EmailChangeRequested(Record):
    """The same for every address, whether or not it has an account."""

    success: bool
    #: The new address, which gets the link.
    email: str
    #: Until when the link works.
    expires_at: datetime


class EmailChangeLink(Record):
    """The contents of the link in the mail. The code proves access to the mailbox."""

    change_id: str
    code: str


class ConfirmEmailChange(EmailChangeLink, kw_only=True):
    """Confirms the new address. The password proves that the mailbox belongs to the person who asked for it."""

    password: str


class EmailChange(Record):
    """The address that a link confirms, or has confirmed."""

    email: str


class MadeEmailLink(Record):
    """The link of a change that waits, for the operator to hand over."""

    email: str
    link: str
    expires_at: datetime
