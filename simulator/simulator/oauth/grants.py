"""People who log in, authorization codes, and the tokens for which the codes are exchanged.

The cookie or query parameter `sim_person` names the person who logs in. Without it a new person with new accounts logs
in. A grant is one login of a person; its tokens are revoked together.
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

#: The beginning of refresh tokens.
_PREFIX = "rft."


@dataclass(slots=True)
class Person:
    """A person with accounts on one platform. A person of Facebook also has the Instagram accounts of the pages."""

    person_id: str
    platform: str
    name: str
    #: Pages, channels or profiles. On LinkedIn the first is the person's own profile.
    accounts: list[Account]
    #: Whether the person refuses every login page's request for consent.
    denies: bool = False
    #: Scopes that the person does not grant.
    withholds: tuple[str, ...] = ()
    #: Facebook: pages that the person reaches through a business portfolio only.
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
    """The data of an authorization code, which a login gives to an app and the app exchanges for tokens."""

    person: Person
    client_id: str
    redirect_uri: str
    challenge: str
    scopes: tuple[str, ...]
    expires_at: float
    #: On YouTube: whether the login gives a refresh token too.
    is_offline: bool = True


class BadGrant(Exception):
    """Raised when an authorization code or a refresh token is invalid, expired or already used."""


class Grants:
    """The people, authorization codes and tokens of one simulator."""

    def __init__(self, accounts: Accounts, clock: Clock) -> None:
        self._accounts = accounts
        self._clock = clock
        self._lock = threading.Lock()
        self._people: dict[str, Person] = {}
        self._codes: dict[str, Code] = {}
        self._used: set[str] = set()
        self._serials = itertools.count(1)
        #: Account → number of refreshes; and the accounts for which a token was revoked. For tests.
        self.refreshed: Counter[str] = Counter()
        self.revoked: list[str] = []

    def person(self, platform: str, count: int = 1, business: int = 0, name: str = "", **more: Any) -> Person:
        """Adds a person with `count` pages, and `business` further pages that belong to a business portfolio. On
        LinkedIn the person has a profile and `count` company pages. Without `name`, makes up a name. `more` are further
        fields of Person.
        """
        person_id, name = f"1221{secrets.randbelow(10**11):011d}", name or f"Sam {secrets.token_hex(2)}"
        made = [self._accounts.issue(platform) for _ in range(count)]
        if platform == "LN":
            made.insert(0, Account("LN", f"urn:li:person:{secrets.token_urlsafe(8)}", name, "sam"))
        reached = [self._accounts.issue(platform) for _ in range(business)]
        person = Person(person_id, platform, name, made, business=reached, **more)
        self._people[person_id] = person
        return person

    def find(self, person_id: str | None, platform: str) -> Person:
        """Returns the person with this id at this platform; if there is none, adds a person."""
        found = self._people.get(person_id or "")
        return found if found is not None and found.platform == platform else self.person(platform)

    def known(self, person_id: str) -> Person | None:
        return self._people.get(person_id)

    def owner(self, account_id: str) -> Person | None:
        """Returns the person who has this account, or None."""
        people = list(self._people.values())
        return next((one for one in people if account_id in one.account_ids), None)

    def code(self, code: Code) -> str:
        text = secrets.token_urlsafe(32)
        self._codes[text] = code
        return text

    def redeem(self, text: str, client_id: str, redirect_uri: str, answer: str) -> Code:
        """Uses up an authorization code and returns its data. `answer` is the PKCE challenge computed from the app's
        verifier. Raises BadGrant if the code is unknown, used or expired, or belongs to another app, redirect URI or
        verifier.
        """
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
        """Adds a grant to the person and returns the grant's id."""
        grant = secrets.token_hex(8)
        person.grants.append(grant)
        return grant

    def access_token(self, account: Account, grant: str, seconds: int, **facts: Any) -> str:
        """Returns a new access token that expires after `seconds`. `facts` are further values for the token."""
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
        """Returns the account of a refresh token, and the values that the token contains. With `once`, the token is
        invalid afterwards. Raises BadGrant if the token is unknown, expired, revoked or used.
        """
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
        """Returns the values that an access or refresh token contains; an empty dict for a forged token."""
        body = self._accounts.unseal(_PREFIX, token)
        return body if isinstance(body, dict) else self._accounts.facts(token)

    def revoke(self, token: str, *, all_of_person: bool = False) -> bool:
        """Revokes the grant of a token, or all grants of its person. Returns False if the token is unknown or has no
        grant.
        """
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
        """Revokes all tokens of a person, as when the person removes our app at the platform."""
        for grant in person.grants:
            self._accounts.revoke(grant)


def s256(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def s256_hex(verifier: str) -> str:
    return hashlib.sha256(verifier.encode()).hexdigest()
