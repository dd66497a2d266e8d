"""The checks before every call to LinkedIn: API version, encoding of the path, token, scope and planned faults."""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import unquote

from flask import Response, jsonify, request

from simulator.accounts import Account
from simulator.linkedin import errors
from simulator.linkedin.errors import LinkedInError
from simulator.simulation import Simulation

Answer = dict[str, Any]
Act = Callable[[Account], Answer]
#: The oldest supported version, as of November 2026. The control API can change it.
OLDEST_VERSION, NEWEST_VERSION = 202511, 202611
_UNENCODED = frozenset(":(),")


class Gate:
    """Checks every call to LinkedIn in one simulator."""

    def __init__(self, sim: Simulation, owner_in: Callable[[str], str | None]) -> None:
        self._sim = sim
        self._owner_in = owner_in
        self.oldest_version = OLDEST_VERSION
        #: Company page → the role of its members; ADMINISTRATOR for a page that is not listed.
        self.roles: dict[str, str] = {}
        #: Account → the time of `Clock.ticks` until which its token is reported as revoked.
        self._young: dict[str, float] = {}

    def reset(self) -> None:
        self.oldest_version = OLDEST_VERSION
        self._young.clear()
        self.roles.clear()

    @property
    def tells_file_state(self) -> bool:
        return bool(self._sim.told("linkedin_file_state", True))

    def make_young(self, account_id: str, seconds: float) -> None:
        """Makes LinkedIn report the account's token as revoked for this long, as it sometimes does with new tokens."""
        self._young[account_id] = self._sim.clock.ticks() + seconds

    def run(
        self,
        operation: str | None,
        act: Act,
        on_reject: Act | None = None,
        status: int = 200,
        *,
        member: str | None = None,
        page: str | None = None,
    ) -> Response:
        """Checks the call. Then runs `act` and returns its result as JSON with HTTP `status`. Raises LinkedInError if a
        check fails, or if a planned fault of `operation` answers the call with an error.

        `member` is the scope that a person's token needs, `page` the scope that a company page's token needs. If
        `on_reject` is given, a fault of the mode `reject` does not raise an error. It only makes `on_reject` run in
        place of `act`.
        """
        self._check_headers()
        account = self.caller()
        self._check_scope(page if account.account_id.startswith("urn:li:organization:") else member)
        mode = self._sim.faults.take("LN", operation, account.account_id) if operation else None
        if mode == "reject" and on_reject:
            return jsonify(on_reject(account))
        answer = self._sim.faults.play(
            mode, lambda refused: errors.refusal(refused, operation or ""), lambda: act(account)
        )
        response = jsonify(answer)
        response.status_code = status
        return response

    def caller(self) -> Account:
        """Returns the account for which the call is made. Raises LinkedInError 401 if the token is unknown, expired or
        revoked.
        """
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        account = self._sim.accounts.holder(token) if scheme == "Bearer" else None
        if account is None or account.platform != "LN":
            raise errors.unauthorized("INVALID_ACCESS_TOKEN")
        if self._sim.accounts.is_expired(account.account_id):
            raise errors.unauthorized("EXPIRED_ACCESS_TOKEN")
        account = self._acting(account, self._sim.accounts.facts(token).get("orgs", ()))
        if self._sim.clock.ticks() < self._young.get(account.account_id, 0.0):
            raise errors.unauthorized("REVOKED_ACCESS_TOKEN")
        return account

    def grants(self, scope: str) -> bool:
        """Whether the token's list of scopes contains this scope. Returns False for a token that the control API made,
        because such a token has no list.
        """
        return scope in (self._granted() or ())

    def _granted(self) -> list[str] | None:
        token = request.headers.get("Authorization", "").partition(" ")[2]
        granted: list[str] | None = self._sim.accounts.facts(token).get("scopes")
        return granted

    def _check_scope(self, scope: str | None) -> None:
        """Raises LinkedInError 403 if the token's list of scopes lacks the scope.

        A token that the control API made has no such list, and may do everything.
        """
        granted = self._granted()
        if scope is not None and granted is not None and scope not in granted:
            raise errors.denied(f"{request.endpoint} without {scope}")

    def _acting(self, member: Account, organizations: Sequence[Sequence[str]]) -> Account:
        """Returns the account for which a person (the member) makes the call: the person, or a company page of theirs.

        A call to a path under /v2/, or one that names the person, is made for the person. Any other call is made for
        the page that it names, or for the page that owns a post or file in it. If there is no such page, it is made for
        the person. `organizations` has the URN, name and user name of each page.
        """
        asked = unquote(f"{request.full_path} {request.get_data(as_text=True) if request.is_json else ''}")
        if member.account_id in asked or request.path.startswith("/v2/"):
            return member
        pages = {urn: Account("LN", urn, name, username) for urn, name, username in organizations}
        for urn, page in pages.items():
            if urn in asked or f"organizations/{urn.rpartition(':')[2]}" in asked:
                return page
        return pages.get(self._owner_in(asked) or "", member) if pages else member

    def _check_headers(self) -> None:
        if request.path.startswith("/v2/"):
            return
        version = request.headers.get("LinkedIn-Version", "")
        oldest = self._sim.told("linkedin_oldest_version", self.oldest_version)
        if not version:
            raise LinkedInError(400, "VERSION_MISSING", "A version must be present. Please specify a version")
        if not version.isdigit() or not oldest <= int(version) <= NEWEST_VERSION:
            raise errors.inactive(version)
        if request.headers.get("X-Restli-Protocol-Version") != "2.0.0":
            raise LinkedInError(400, "ILLEGAL_ARGUMENT", "X-Restli-Protocol-Version 2.0.0 is needed")
        raw = str(request.environ.get("RAW_URI") or request.environ.get("REQUEST_URI") or "").partition("?")[
            0
        ]
        if _UNENCODED & set(raw):
            raise LinkedInError(400, "ILLEGAL_ARGUMENT", "URNs in the path have to be encoded")
