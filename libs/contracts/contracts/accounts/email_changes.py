"""Messages about changing the e-mail address of an account."""

from datetime import datetime

from contracts.record import Record


class ChangeEmail(Record):
    """A request to change the account's e-mail address. The new address gets a mail with a link; nothing changes before
    somebody confirms the link.
    """

    email: str
    password: str
    #: A code of the authenticator app or a recovery code, if the account asks for one.
    totp_code: str | None = None


class EmailChangeRequested(Record):
    """The answer to a request for another address, the same whether or not that address has an account."""

    success: bool
    #: The new address, which gets the link.
    email: str
    #: Until when the link works.
    expires_at: datetime


class WaitingEmailChange(Record):
    """A requested change of address that nobody has confirmed yet."""

    #: The new address.
    email: str
    #: Until when its link works.
    expires_at: datetime


class EmailChangeState(Record):
    """Whether a change of the account's address waits for its confirmation."""

    waiting: WaitingEmailChange | None


class EmailChangeCancelled(Record):
    """The answer to a cancelled change of address, also if none was waiting."""

    success: bool


class EmailChangeLink(Record):
    """The contents of the link that confirms a new address. Its code is known only from the mail to that address, or
    from a link that the operator hands over.
    """

    change_id: str
    code: str


class ConfirmEmailChange(EmailChangeLink, kw_only=True):
    """A request to change the account's address to the one that the link confirms.

    The account's password proves that the reader of the mail is the person who requested the change.
    """

    password: str


class EmailChange(Record):
    """The address that a link confirms, or has confirmed."""

    email: str


class MadeEmailLink(Record):
    """The link that confirms a requested change of address, for the operator to hand over."""

    email: str
    link: str
    expires_at: datetime
