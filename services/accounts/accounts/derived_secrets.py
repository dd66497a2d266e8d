"""New tokens in plain text. Only their hash is stored, so what must be shown twice is derived, not random.

A write may run twice (a link cut in the middle of a call) and has to answer the same both times. So a token
made under an operation id is HMAC-SHA256(TOKEN_SECRET, operation id), and an account's sandbox token is
HMAC-SHA256(TOKEN_SECRET, account id), which lets the dashboard show it again (spec "Authentication" 7).
Neither can be had from the database without TOKEN_SECRET. A changed TOKEN_SECRET leaves issued tokens valid.

The codes of verification links and invites are derived in the same way, so that a mail can be sent a second time and
nothing secret is stored. A changed TOKEN_SECRET ends the pending ones.
"""

import hashlib
import hmac

from accounts.config import AccountsConfig
from chassis.tokens import LIVE_PREFIX, SANDBOX_PREFIX, make_token

#: 128 bits in hex: beyond guessing.
_CODE_LENGTH = 32


def live_token(config: AccountsConfig, operation_id: str | None, *, legacy: bool = False) -> str:
    """A live token: derived when there is an operation id to repeat, random otherwise."""
    prefix = config.legacy_token_prefix if legacy else LIVE_PREFIX
    return make_token(prefix, _derive(config, "operation", operation_id) if operation_id else None)


def sandbox_token(config: AccountsConfig, account_id: str) -> str:
    """The account's one sandbox token, the same every time."""
    return make_token(SANDBOX_PREFIX, _derive(config, "sandbox", account_id))


def verification_code(config: AccountsConfig, user_id: str) -> str:
    """The secret part of the link in a verification mail: 128 bits in hex."""
    return _derive(config, "verification", user_id).hex()[:_CODE_LENGTH]


def invite_code(config: AccountsConfig, invite_id: str) -> str:
    """What the operator hands to the person invited: 128 bits in hex."""
    return _derive(config, "invite", invite_id).hex()[:_CODE_LENGTH]


def is_code(expected: str, given: str) -> bool:
    """Compares in a time that does not depend on how much of the code is right."""
    return hmac.compare_digest(expected.encode(), given.encode("utf-8", "replace"))


def pseudonym(config: AccountsConfig, kind: str, value: str) -> str:
    """Stands for an address that is counted and not to be stored."""
    return f"{kind}:{_derive(config, f'pseudonym-{kind}', value).hex()[:_CODE_LENGTH]}"


def _derive(config: AccountsConfig, kind: str, value: str) -> bytes:
    return hmac.digest(config.token_secret.encode(), f"{kind}:{value}".encode(), hashlib.sha256)
