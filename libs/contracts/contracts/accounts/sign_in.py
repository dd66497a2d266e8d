"""Messages about signing in: sessions and passwords."""

from datetime import datetime

from contracts.record import Record


class LogIn(Record):
    email: str
    password: str
    #: The client's network, for the limits on failed attempts.
    asker: str
    #: Shown in the list of sessions, so that their owner recognizes them.
    user_agent: str = ""
    address: str = ""
    #: A code of the authenticator app or a recovery code, if the account asks for one.
    totp_code: str | None = None


class Session(Record):
    """A person who is signed in on one device. Ends 30 days after its last use. Does not hold the session's token."""

    id: str
    #: The client that signed in, as it called itself, and its address.
    user_agent: str
    address: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime
    #: Whether this session sent the request.
    current: bool = False


class LoggedIn(Record):
    """A session that a sign-in has opened, and its token in plain text, which is shown only now."""

    session: Session
    session_token: str
    #: The IANA zone and the BCP 47 language in which the person reads times; None: not chosen.
    timezone: str | None = None
    language: str | None = None


class ListSessions(Record):
    """A request for the caller's sessions, newest first."""

    limit: int = 50
    cursor: str | None = None


class SessionList(Record):
    sessions: tuple[Session, ...]
    next_cursor: str | None = None


class ListSharedBrands(Record):
    """A request for the brands of other accounts that the caller works on, newest first."""

    limit: int = 50
    cursor: str | None = None


class SharedBrand(Record):
    """A brand of another account that the caller works on as a collaborator, and the person who owns it."""

    brand_id: str
    name: str
    timezone: str
    #: `full` or `limited`
    role: str
    #: Since when the caller works on it.
    created_at: datetime
    owner_email: str
    owner_firstname: str
    owner_lastname: str


class SharedBrandList(Record):
    brands: tuple[SharedBrand, ...]
    next_cursor: str | None = None


class EnterBrand(Record):
    brand_id: str


class BrandEntered(Record):
    """A session that acts on one brand of another account, and its token in plain text, which is shown only now."""

    session: Session
    session_token: str
    brand_id: str
    #: `full` or `limited`
    role: str
    scopes: tuple[str, ...]


class SessionId(Record):
    id: str


class SessionEnded(Record):
    success: bool
    id: str


class RequestReset(Record):
    """A request for a mail with a link that resets the password of the account with this address, if there is one."""

    email: str
    #: The client's network, for the limit on requests.
    asker: str


class ResetLink(Record):
    """The contents of a link that resets a password. Its code is known only from the mail, or from a link that the
    operator hands over.
    """

    reset_id: str
    code: str


class MakeResetLink(Record):
    """The request of the operator's command `user reset-link`, for a new link that resets an account's password."""

    email: str


class MadeResetLink(Record):
    link: str
    expires_at: datetime


class ResetPassword(ResetLink, kw_only=True):
    password: str


class PasswordReset(Record):
    """The e-mail address of the account to which a reset link belongs, before and after the password is changed."""

    email: str


class ChangePassword(Record):
    current_password: str
    new_password: str


class PasswordChanged(Record):
    success: bool
    #: The account's other sessions, which the change has ended.
    ended_sessions: int


class BeginTotp(Record):
    """A request for the secret that an authenticator app needs."""

    password: str


class BegunTotp(Record):
    """The secret for an authenticator app, shown only now: as text, and as the address for a QR code."""

    secret: str
    otpauth_url: str


class ConfirmTotp(Record):
    """A request to turn the second factor on. The code proves that the app has the secret."""

    totp_code: str


class TotpEnabled(Record):
    """The second factor is on: from now on a sign-in needs a code of the app.

    Each recovery code replaces one code of the app, once. Recovery codes are shown only now.
    """

    success: bool
    recovery_codes: tuple[str, ...]


class DisableTotp(Record):
    password: str
    #: A code of the authenticator app or a recovery code.
    totp_code: str


class TotpDisabled(Record):
    success: bool


class Totp(Record):
    """Whether a sign-in needs a code of an authenticator app besides the password."""

    enabled: bool
    enabled_at: datetime | None
    recovery_codes_left: int
