"""The accounts on the simulated platforms, and their access tokens.

A token contains the fields of its account and is signed with the setting `seed`. So a restarted simulator with the same
seed accepts the tokens that it issued before the restart, but it lists only accounts that were created or used since.
Tokens from the control API never expire. Tokens from a person's login expire. They also become invalid when the login
(the grant) is revoked.
"""

import base64
import hashlib
import hmac
import json
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from simulator.platforms import PLATFORMS

_SIGNATURE_LENGTH = 32


@dataclass(frozen=True, slots=True)
class Account:
    """An account on a simulated platform: a page, a profile or a channel."""

    platform: str
    account_id: str
    name: str
    username: str

    @property
    def followers(self) -> int:
        """The number of followers. It is computed from the account id, so it is the same after a restart."""
        return int(hashlib.sha256(self.account_id.encode()).hexdigest()[:4], 16) + 100


class Accounts:
    """Creates accounts, issues their tokens and verifies tokens."""

    def __init__(self, seed: str, now: Callable[[], datetime]) -> None:
        self._seed = seed.encode()
        self._now = now
        self._revoked: set[str] = set()
        self._known: dict[str, Account] = {}
        self._expired: set[str] = set()
        self._read = lru_cache(maxsize=8192)(self._read_token)

    def issue(self, platform: str, name: str | None = None, username: str | None = None) -> Account:
        """Creates an account on a platform and returns it. The platform must have accounts: the AI providers and Stripe
        have none (`new_account_id` is None in their rows of `PLATFORMS`).
        """
        row = PLATFORMS[platform]
        assert row.new_account_id is not None
        account_id = row.new_account_id()
        label = name or f"{row.name} page {account_id[-4:]}"
        plain = unicodedata.normalize("NFKD", label.lower())
        handle = username or "".join(c for c in plain if c.isascii() and c.isalnum()) or account_id
        account = Account(platform, account_id, label, handle)
        self._known[account_id] = account
        return account

    def token(self, account: Account, prefix: str | None = None, **facts: Any) -> str:
        """Returns an access token of an account. The same arguments always give the same token.

        `prefix` is the beginning of the token, by default the platform's. `facts` are further values that the token
        contains. `exp` is the time when it expires, in seconds since 1970. `grant` is the id of the person's login,
        with which the token can be revoked. A platform may add fields of its own.
        """
        body = [
            account.platform,
            account.account_id,
            account.name,
            account.username,
            *([facts] if facts else ()),
        ]
        if prefix is None:
            prefix = PLATFORMS[account.platform].token_prefix
        return self.seal(prefix, body)

    def seal(self, prefix: str, body: Any) -> str:
        """Returns a token that begins with `prefix`, contains `body` as JSON, and is signed."""
        text = json.dumps(body, separators=(",", ":"))
        packed = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
        return prefix + packed + self._signature(packed)

    def unseal(self, prefix: str, token: str) -> Any:
        """Returns the `body` that was given to `seal`, or None if the token's prefix or signature is wrong."""
        packed, signature = token[len(prefix) : -_SIGNATURE_LENGTH], token[-_SIGNATURE_LENGTH:]
        if not token.startswith(prefix) or not hmac.compare_digest(
            self._signature(packed).encode(), signature.encode()
        ):
            return None
        return json.loads(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)))

    def revoke(self, grant: str) -> None:
        """Makes all tokens of a grant (one login of a person) invalid."""
        self._revoked.add(grant)

    def is_revoked(self, grant: str | None) -> bool:
        return grant in self._revoked

    def facts(self, token: str) -> dict[str, Any]:
        """Returns the `facts` that were given to `Accounts.token` when this token was made. Returns an empty dict for a
        forged token.
        """
        found = self._read(token)
        return found[1] if found is not None else {}

    def holder(self, token: str) -> Account | None:
        """Returns the token's account, or None if the token is forged, past its expiry time or revoked. The account is
        also returned if `set_expired` has marked its tokens as expired.
        """
        found = self._read(token)
        if found is None:
            return None
        account, facts = found
        if ("exp" in facts and facts["exp"] <= self._now().timestamp()) or self.is_revoked(
            facts.get("grant")
        ):
            return None
        if account.platform in PLATFORMS:
            self._known.setdefault(account.account_id, account)
        return account

    def is_expired(self, account_id: str) -> bool:
        """Whether a test has expired the account's tokens through the control API."""
        return account_id in self._expired

    def set_expired(self, account_id: str, expired: bool) -> None:
        """Marks the tokens of an account as expired, or removes that mark."""
        (self._expired.add if expired else self._expired.discard)(account_id)

    def find(self, account_id: str) -> Account | None:
        """Returns an account that was created or used since the simulator started; None for any other id."""
        return self._known.get(account_id)

    def known(self, platform: str | None = None) -> list[Account]:
        """Returns the accounts that were created or used since the simulator started, oldest first. With `platform`
        returns only the accounts of this platform.
        """
        return [account for account in list(self._known.values()) if platform in (None, account.platform)]

    def _signature(self, body: str) -> str:
        return hmac.new(self._seed, body.encode(), hashlib.sha256).hexdigest()[:_SIGNATURE_LENGTH]

    def _read_token(self, token: str) -> tuple[Account, dict[str, Any]] | None:
        for prefix in {row.token_prefix for row in PLATFORMS.values() if row.new_account_id}:
            body = self.unseal(prefix, token)
            if isinstance(body, list):
                platform, account_id, name, username, *more = body
                return Account(platform, account_id, name, username), more[0] if more else {}
        return None
