"""Limits how often something may be tried. Without a token: sign-ups, sign-ins and requests for reset links. For one
account: passwords, codes, invitations and changes of address. The tries are counted in the database, for all processes
together.
"""

from accounts import derived_secrets
from accounts.config import AccountsConfig
from accounts.store import Connection
from accounts.store.sign_up_tries import TryStore
from contracts.errors import RATE_LIMITED, ApiError

_HOUR_SECONDS = 3_600
_DAY_SECONDS = 86_400
#: Sign-ups per address and day, from any network: a person needs one or two.
SIGN_UPS_PER_ADDRESS = 5
#: Passwords tried per link that confirms an address, and day: enough for a person who mistypes.
PASSWORDS_PER_LINK = 10
#: Failed sign-ins per address and day: from one network, and from all. NIST SP 800-63B (5.2.2) permits 100 in a row.
#: One network has fewer, so that it cannot lock the owner out alone.
FAILURES_PER_NETWORK, FAILURES_PER_ADDRESS = 20, 100
#: Invitations per account and day, and per invited address and day from all accounts: each sends a mail.
INVITATIONS_PER_ACCOUNT, INVITATIONS_PER_ADDRESS = 20, 5
#: Changes of an account's address per day, and per new address and day from all accounts: each sends two mails.
EMAIL_CHANGES_PER_ACCOUNT, EMAIL_CHANGES_PER_ADDRESS = 5, 5
#: Reset links per address and day, from any network: as many as sign-ups, because both send a mail.
RESETS_PER_ADDRESS = 5


def count_sign_up(connection: Connection, config: AccountsConfig, asker: str, email: str) -> None:
    """Counts a sign-up from a network (`asker`) with an address. Raises RATE_LIMITED over a limit, whether or not the
    address has an account.

    The network is counted first, so that a network over its limit cannot use up the tries of an address.
    """
    if config.signups_per_hour > 0:
        subject = derived_secrets.pseudonym(config, "asker", asker)
        _take(connection, subject, config.signups_per_hour, _HOUR_SECONDS)
    _take(connection, derived_secrets.pseudonym(config, "email", email), SIGN_UPS_PER_ADDRESS, _DAY_SECONDS)


def count_password(connection: Connection, linked_id: str) -> None:
    """Counts an attempt to confirm an address: the person has opened the mailed link, and enters the account's password
    on its page. Raises RATE_LIMITED after too many attempts with the same link in a day.

    `linked_id`: the id of the user who signed up, or of the requested change of address.
    """
    _take(connection, f"verification:{linked_id}", PASSWORDS_PER_LINK, _DAY_SECONDS)


def count_login(connection: Connection, config: AccountsConfig, asker: str, email: str) -> tuple[str, ...]:
    """Counts an attempt to sign in to an address from a network (`asker`). Counts first for the network, then for the
    address from this network, last for the address from all networks. So a network over its limit cannot use up the
    tries of an address. Raises RATE_LIMITED over a limit, whether or not the address has an account.

    Returns the names of the two counters of the address. After a successful sign-in, pass them to
    `TryStore.give_back`: they count only failures.
    """
    _count_login_of_network(connection, config, asker)
    pair = derived_secrets.pseudonym(config, "login-from", f"{email} {asker}")
    _take(connection, pair, FAILURES_PER_NETWORK, _DAY_SECONDS)
    address = _login(config, email)
    _take(connection, address, FAILURES_PER_ADDRESS, _DAY_SECONDS)
    return pair, address


def forget_logins(connection: Connection, config: AccountsConfig, email: str) -> None:
    """Deletes the count of failed sign-ins to an address from all networks together, because its owner has set a new
    password. The counts for single networks stay."""
    TryStore(connection).forget(_login(config, email))


def count_reset(connection: Connection, config: AccountsConfig, asker: str, email: str) -> None:
    """Counts a request for a reset link, for the network (`asker`) and then for the address. Raises RATE_LIMITED over a
    limit, whether or not the address has an account.
    """
    _count_login_of_network(connection, config, asker)
    subject = derived_secrets.pseudonym(config, "reset", email)
    _take(connection, subject, RESETS_PER_ADDRESS, _DAY_SECONDS)


def count_invitation(connection: Connection, config: AccountsConfig, account_id: str, email: str) -> None:
    """Counts an invitation to a brand, for the inviting account, then for the invited address. Raises RATE_LIMITED
    over a limit, whether or not the address has an account.
    """
    _take(connection, f"invitations:{account_id}", INVITATIONS_PER_ACCOUNT, _DAY_SECONDS)
    subject = derived_secrets.pseudonym(config, "invited", email)
    _take(connection, subject, INVITATIONS_PER_ADDRESS, _DAY_SECONDS)


def count_email_change(connection: Connection, config: AccountsConfig, account_id: str, email: str) -> None:
    """Counts a request to change an account's e-mail address: for the account, then for the new address. Raises
    RATE_LIMITED over a limit, whether or not the new address has an account.
    """
    _take(connection, f"email-changes:{account_id}", EMAIL_CHANGES_PER_ACCOUNT, _DAY_SECONDS)
    subject = derived_secrets.pseudonym(config, "new-email", email)
    _take(connection, subject, EMAIL_CHANGES_PER_ADDRESS, _DAY_SECONDS)


def count_change(connection: Connection, user_id: str) -> str:
    """Counts an attempt to enter the account's password within a session, for example to choose a new one. Returns the
    counter's name, for `TryStore.give_back` after a success.

    Raises RATE_LIMITED after too many failed attempts.
    """
    subject = f"change:{user_id}"
    _take(connection, subject, FAILURES_PER_NETWORK, _DAY_SECONDS)
    return subject


def count_totp(connection: Connection, user_id: str) -> str:
    """Counts an attempt to enter a code of the second factor within a session. Returns the counter's name, for
    `TryStore.give_back` when the code is right.

    Raises RATE_LIMITED after too many wrong codes.
    """
    subject = f"totp:{user_id}"
    _take(connection, subject, FAILURES_PER_NETWORK, _DAY_SECONDS)
    return subject


def _count_login_of_network(connection: Connection, config: AccountsConfig, asker: str) -> None:
    if config.logins_per_hour > 0:
        subject = derived_secrets.pseudonym(config, "login-asker", asker)
        _take(connection, subject, config.logins_per_hour, _HOUR_SECONDS)


def _login(config: AccountsConfig, email: str) -> str:
    return derived_secrets.pseudonym(config, "login", email)


def _take(connection: Connection, subject: str, limit: int, window_seconds: int) -> None:
    tries = TryStore(connection).take(subject, window_seconds)
    if tries.made > limit:
        raise ApiError(
            RATE_LIMITED,
            "Too many attempts. Try again later.",
            retry_after_seconds=max(tries.seconds_left, 1),
        )
