"""Rate limits for calls without a token, counted in the database for all processes together."""

from accounts import derived_secrets
from accounts.config import AccountsConfig
from accounts.store import Connection
from accounts.store.sign_up_tries import TryStore
from contracts.errors import RATE_LIMITED, ApiError

_HOUR_SECONDS = 3_600
_DAY_SECONDS = 86_400
#: Sign-ups per address and day, from any network: a person needs one or two.
SIGN_UPS_PER_ADDRESS = 5
#: Passwords tried per verification link and day: enough for a person who mistypes.
PASSWORDS_PER_LINK = 10


def count_sign_up(connection: Connection, config: AccountsConfig, asker: str | None, email: str) -> None:
    """Counts a sign-up, the network first: a network over its limit cannot use up the tries of an address.

    Raises RATE_LIMITED, whether or not the address has an account.
    """
    if asker is not None and config.signups_per_hour > 0:
        subject = derived_secrets.pseudonym(config, "asker", asker)
        _take(connection, subject, config.signups_per_hour, _HOUR_SECONDS)
    _take(connection, derived_secrets.pseudonym(config, "email", email), SIGN_UPS_PER_ADDRESS, _DAY_SECONDS)


def count_password(connection: Connection, user_id: str) -> None:
    """Counts one password tried with a verification link. Raises RATE_LIMITED."""
    _take(connection, f"verification:{user_id}", PASSWORDS_PER_LINK, _DAY_SECONDS)


def _take(connection: Connection, subject: str, limit: int, window_seconds: int) -> None:
    tries = TryStore(connection).take(subject, window_seconds)
    if tries.made > limit:
        raise ApiError(
            RATE_LIMITED,
            "Too many attempts. Try again later.",
            retry_after_seconds=max(tries.seconds_left, 1),
        )
