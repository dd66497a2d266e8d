"""People, the codes they are sent back with, and the tokens codes are exchanged for. Wording is each platform's.

A person is whoever the browser says (cookie or query `sim_person`), else somebody new with accounts of their own.
"""

import base64
import hashlib
import itertools
import secrets
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from simulator.accounts import Account, Accounts
from simulator.clock import Clock
from simulator.platforms import PLATFORMS

#: Of refresh tokens.
_PREFIX = "rft."


@dataclass(slots=True)
class Person:
    """Somebody with accounts on one platform (Facebook's are Instagram's as well)."""

    person_id: str
    platform: str
    name: str
    #: Pages, channels, profiles; the first is their own where they are one.
    accounts: list[Account]
    denies: bool = False
    #: Scopes they will not give.
    withholds: tuple[str, ...] = ()
    #: Facebook: pages they reach through a business portfolio alone.
    business: list[Account] = field(default_factory=list)
    grants: list[str] = field(default_factory=list)

    @property
    def account_ids(self) -> set[str]:
        return {account.account_id for account in (*self.accounts, *self.business)}

    @property
    def business_id(self) -> str:
        return f"7{self.person_id}"


@dataclass(frozen=True, slots=True)
class Code:
    """What a code stands for."""

    person: Person
    client_id: str
    redirect_uri: str
    challenge: str
    scopes: tuple[str, ...]
    expires_at: float
    #: Google: whether a refresh token is to come with it.
    is_offline: bool = True


class BadGrant(Exception):
    """The code or refresh token is not good (any more)."""


class Grants:
    """All logins of one simulator."""

    def __init__(self, accounts: Accounts, clock: Clock) -> None:
        self._accounts = accounts
        self._clock = clock
        self._lock = threading.Lock()
        self._people: dict[str, Person] = {}
        self._codes: dict[str, Code] = {}
        self._used: set[str] = set()
        self._serials = itertools.count(1)
        #: Refreshes by account, and accounts whose grant was given back: for tests.
        self.refreshed: Counter[str] = Counter()
        self.revoked: list[str] = []

    def person(self, platform: str, count: int = 1, business: int = 0, **more: Any) -> Person:
        """Somebody new with so many pages, or one account; LinkedIn: themselves and so many company pages."""
        person_id, name = f"1221{secrets.randbelow(10**11):011d}", f"Sam {secrets.token_hex(2)}"
        made = [self._accounts.issue(platform) for _ in range(count)]
        if platform == "LN":
            made.insert(0, Account("LN", f"urn:li:person:{secrets.token_urlsafe(8)}", name, "sam"))
        reached = [self._accounts.issue(platform) for _ in range(business)]
        person = Person(person_id, platform, name, made, business=reached, **more)
        self._people[person_id] = person
        return person

    def find(self, person_id: str | None, platform: str) -> Person:
        """Who the browser says, or somebody new."""
        found = self._people.get(person_id or "")
        return found if found is not None and found.platform == platform else self.person(platform)

    def known(self, person_id: str) -> Person | None:
        return self._people.get(person_id)

    def owner(self, account_id: str) -> Person | None:
        """Whose account it is."""
        people = list(self._people.values())
        return next((one for one in people if account_id in one.account_ids), None)

    def code(self, code: Code) -> str:
        text = secrets.token_urlsafe(32)
        self._codes[text] = code
        return text

    def redeem(self, text: str, client_id: str, redirect_uri: str, answer: str) -> Code:
        """Each code once, for whom and where it was given. `answer`: PKCE's, of the verifier. Raises BadGrant."""
        with self._lock:
            code = self._codes.pop(text, None)
        if code is None or self._clock.now().timestamp() >= code.expires_at:
            raise BadGrant("code")
        if (code.client_id, code.redirect_uri) != (client_id, redirect_uri):
            raise BadGrant("redirect_uri")
        if code.challenge and not secrets.compare_digest(code.challenge.encode(), answer.encode()):
            raise BadGrant("verifier")
        return code

    def open(self, person: Person) -> str:
        """A new grant of theirs."""
        grant = secrets.token_hex(8)
        person.grants.append(grant)
        return grant

    def access_token(self, account: Account, grant: str, seconds: int, **facts: Any) -> str:
        """One that ends."""
        now = self._clock.now().timestamp()
        prefix = PLATFORMS["FB"].token_prefix if account.platform not in PLATFORMS else None
        return self._accounts.token(
            account, prefix, exp=int(now) + seconds, grant=grant, n=next(self._serials), **facts
        )

    def refresh_token(
        self, account: Account, grant: str, seconds: int, scopes: tuple[str, ...], **facts: Any
    ) -> str:
        ends_at = int(self._clock.now().timestamp()) + seconds
        whose = [account.platform, account.account_id, account.name, account.username]
        body = {"who": whose, "grant": grant, "exp": ends_at, "scopes": scopes, "n": secrets.token_hex(4)}
        return self._accounts.seal(_PREFIX, body | facts)

    def spend(self, token: str, platform: str, *, once: bool) -> tuple[Account, dict[str, Any]]:
        """Whose refresh token it is, and its facts. `once`: it is void from now on. Raises BadGrant."""
        body = self._accounts.unseal(_PREFIX, token)
        if not isinstance(body, dict) or body["who"][0] != platform:
            raise BadGrant("unknown")
        if body["exp"] <= self._clock.now().timestamp() or self._accounts.is_revoked(body["grant"]):
            raise BadGrant("over")
        with self._lock:
            if token in self._used:
                raise BadGrant("used")
            if once:
                self._used.add(token)
        account = Account(*body["who"])
        self.refreshed[account.account_id] += 1
        return account, body

    def facts_of(self, token: str) -> dict[str, Any]:
        """Of an access or refresh token; empty for anything else."""
        body = self._accounts.unseal(_PREFIX, token)
        return body if isinstance(body, dict) else self._accounts.facts(token)

    def revoke(self, token: str, *, all_of_person: bool = False) -> bool:
        """Gives a token's grant back; False when it is none."""
        facts = self.facts_of(token)
        grant = facts.get("grant")
        if grant is None:
            return False
        whose = facts.get("who")
        account = Account(*whose) if whose else self._accounts.holder(token)
        owner = next((one for one in list(self._people.values()) if grant in one.grants), None)
        for one in owner.grants if owner is not None and all_of_person else [grant]:
            self._accounts.revoke(one)
        if account is not None:
            self.revoked.append(account.account_id)
        return True

    def leave(self, person: Person) -> None:
        """The person removes our app."""
        for grant in person.grants:
            self._accounts.revoke(grant)


def s256(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def s256_hex(verifier: str) -> str:
    return hashlib.sha256(verifier.encode()).hexdigest()
