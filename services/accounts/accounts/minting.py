"""New tokens in plain text. Only their hash is stored, so what must be shown twice is derived, not random.

A write may run twice (a link cut in the middle of a call) and has to answer the same both times. So a token
made under an operation id is HMAC-SHA256(TOKEN_SECRET, operation id), and an account's sandbox token is
HMAC-SHA256(TOKEN_SECRET, account id), which lets the dashboard show it again (spec "Authentication" 7).
Neither can be had from the database without TOKEN_SECRET. A changed TOKEN_SECRET leaves issued tokens valid.
"""

import hashlib
import hmac

from accounts.config import AccountsConfig
from chassis.tokens import LIVE_PREFIX, SANDBOX_PREFIX, make_token


def live_token(config: AccountsConfig, operation_id: str | None, *, legacy: bool = False) -> str:
    """A live token: derived when there is an operation id to repeat, random otherwise."""
    prefix = config.legacy_token_prefix if legacy else LIVE_PREFIX
    return make_token(prefix, _derive(config, "operation", operation_id) if operation_id else None)


def sandbox_token(config: AccountsConfig, account_id: str) -> str:
    """The account's one sandbox token, the same every time."""
    return make_token(SANDBOX_PREFIX, _derive(config, "sandbox", account_id))


def _derive(config: AccountsConfig, kind: str, value: str) -> bytes:
    return hmac.digest(config.token_secret.encode(), f"{kind}:{value}".encode(), hashlib.sha256)
