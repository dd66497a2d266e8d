"""Derives tokens and codes that may have to be shown twice, although only their hash is stored.

A write may run twice, for example after a connection is lost during a call, and must answer the same both times. So
the token that an operation creates is HMAC-SHA256(TOKEN_SECRET, operation id). The dashboard shows an account's sandbox
token again at any time (docs/spec.md, "Authentication", item 7). So that token is HMAC-SHA256(TOKEN_SECRET, account
id). Neither can be computed from the database without TOKEN_SECRET. Tokens stay valid when TOKEN_SECRET changes.

The codes of invites and of links in mails, the secrets of authenticator apps and recovery codes are derived in the same
way. After a change of TOKEN_SECRET recovery codes still work, because their hashes are stored; pending codes and the
apps' secrets become invalid.
"""

import base64
import hashlib
import hmac

from accounts.config import AccountsConfig
from chassis.tokens import LIVE_PREFIX, SANDBOX_PREFIX, make_token

#: 128 bits in hex.
_CODE_LENGTH = 32


def live_token(config: AccountsConfig, operation_id: str | None, *, legacy: bool = False) -> str:
    """Returns an API token (not a sandbox token): derived from the operation id, or random without one.

    `legacy`: the token begins with LEGACY_TOKEN_PREFIX instead of the usual prefix.
    """
    prefix = config.legacy_token_prefix if legacy else LIVE_PREFIX
    return make_token(prefix, _derive(config, "operation", operation_id) if operation_id else None)


def sandbox_token(config: AccountsConfig, account_id: str) -> str:
    """Returns the account's sandbox token, which is always the same."""
    return make_token(SANDBOX_PREFIX, _derive(config, "sandbox", account_id))


def verification_code(config: AccountsConfig, user_id: str) -> str:
    """Returns the secret part of a verification link: 128 bits in hex."""
    return _derive(config, "verification", user_id).hex()[:_CODE_LENGTH]


def invite_code(config: AccountsConfig, invite_id: str) -> str:
    """Returns the code that the operator gives to the invited person: 128 bits in hex."""
    return _derive(config, "invite", invite_id).hex()[:_CODE_LENGTH]


def invitation_code(config: AccountsConfig, invitation_id: str) -> str:
    """Returns the secret part of the link that invites somebody to a brand: 128 bits in hex."""
    return _derive(config, "invitation", invitation_id).hex()[:_CODE_LENGTH]


def reset_code(config: AccountsConfig, reset_id: str) -> str:
    """Returns the secret part of a reset link: 128 bits in hex."""
    return _derive(config, "reset", reset_id).hex()[:_CODE_LENGTH]


def email_code(config: AccountsConfig, change_id: str) -> str:
    """Returns the secret part of a link that confirms another address: 128 bits in hex."""
    return _derive(config, "email", change_id).hex()[:_CODE_LENGTH]


def totp_secret(config: AccountsConfig, totp_id: str) -> str:
    """Returns the secret that an authenticator app shares with us: 160 bits in base32, as RFC 4226 recommends."""
    return base64.b32encode(_derive(config, "totp", totp_id)[:20]).decode()


def recovery_codes(config: AccountsConfig, totp_id: str) -> tuple[str, ...]:
    """Returns ten codes, each of which replaces one code of the app: 80 bits in base32, in lower case."""
    secrets = (_derive(config, "recovery", f"{totp_id}:{number}")[:10] for number in range(10))
    return tuple(base64.b32encode(secret).decode().lower() for secret in secrets)


def is_code(expected: str, given: str) -> bool:
    """Whether two codes are equal. Compares them in constant time."""
    return hmac.compare_digest(expected.encode(), given.encode("utf-8", "replace"))


def pseudonym(config: AccountsConfig, kind: str, value: str) -> str:
    """Returns the name of a counter of attempts: `kind` and a hash of `value`.

    `value` is an e-mail or network address, which must not be stored.
    """
    return f"{kind}:{_derive(config, f'pseudonym-{kind}', value).hex()[:_CODE_LENGTH]}"


def _derive(config: AccountsConfig, kind: str, value: str) -> bytes:
    return hmac.digest(config.token_secret.encode(), f"{kind}:{value}".encode(), hashlib.sha256)
