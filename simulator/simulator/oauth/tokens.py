"""Functions that the platforms' token endpoints share: code exchange, refresh, revocation, and faults of the operation
`token`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flask import Response, jsonify, request

from simulator.accounts import Account
from simulator.oauth.grants import BadGrant, Code
from simulator.simulation import Simulation

Answer = dict[str, Any]


class OAuthError(Exception):
    """Raised to answer a call with an OAuth error (RFC 6749 5.2)."""

    def __init__(self, error: str, description: str, status: int = 400) -> None:
        super().__init__(error)
        self.status = status
        self.body = {"error": error, "error_description": description}


@dataclass(frozen=True, slots=True)
class Rules:
    """A platform's rules for issuing tokens. Times are in seconds."""

    platform: str
    access_seconds: int
    #: Lifetime of refresh tokens; None: the platform issues none.
    refresh_seconds: int | None
    #: Whether a refresh gives a new refresh token and makes the old one invalid.
    rotates: bool
    #: Computes the PKCE challenge from the verifier.
    proof: Callable[[str], str] = lambda verifier: ""
    #: Changes the answer to the platform's own form.
    shape: Callable[[Account, Answer], Answer] = lambda account, answer: answer
    separator: str = " "
    bad_grant: Callable[[], OAuthError] = lambda: OAuthError("invalid_grant", "The grant is not valid.")


def answer(sim: Simulation, rules: Rules, client_id: str, form: Mapping[str, str] | None = None) -> Answer:
    """Answers a code exchange or a refresh with tokens. The caller must have checked the app's id and secret. Raises
    OAuthError if the code or refresh token is not valid.

    `form`: the fields of the request, by default those of its form data. Needed at a platform that also accepts JSON.
    """
    form = request.form if form is None else form
    try:
        if form.get("grant_type") == "authorization_code":
            return _exchange(sim, rules, client_id, form)
        if form.get("grant_type") == "refresh_token":
            return _refresh(sim, rules, client_id, form)
    except BadGrant as problem:
        raise rules.bad_grant() from problem
    raise OAuthError("unsupported_grant_type", "The grant_type is not supported.")


def faulted(sim: Simulation, platform: str, account_id: str | None, act: Callable[[], Answer]) -> Answer:
    """Runs `act` and returns its answer, with the delay or failure of the fault that a test has planned for the
    operation `token`. Raises OAuthError if the fault answers the call with an error.

    The fault's mode chooses the error: `expired` says that the grant has expired, `reject` that the app is unknown.
    """
    mode = sim.faults.take(platform, "token", account_id)
    words = {
        "expired": OAuthError("invalid_grant", "Token has been expired or revoked."),
        "reject": OAuthError("invalid_client", "Unknown client.", 401),
        "server_error": OAuthError("server_error", "Try again later.", 503),
        "rate_limit": OAuthError("rate_limited", "Too many requests.", 429),
    }
    return sim.faults.play(mode, lambda refused: words[refused], act)


def revoke(sim: Simulation, token: str | None = None, *, all_of_person: bool = False) -> Response:
    """Answers a revocation. Revokes the grant of `token`, by default of the token in the form. An unknown token is not
    an error (RFC 7009).
    """
    sim.grants.revoke(request.form.get("token", "") if token is None else token, all_of_person=all_of_person)
    return jsonify({})


def _exchange(sim: Simulation, rules: Rules, client_id: str, form: Mapping[str, str]) -> Answer:
    code = sim.grants.redeem(
        form.get("code", ""),
        client_id,
        form.get("redirect_uri", ""),
        rules.proof(form.get("code_verifier", "")),
    )
    account = code.person.accounts[0]

    def act() -> Answer:
        grant = sim.grants.open(code.person)
        facts = _organizations(code) | {"client": client_id}
        return _tokens(sim, rules, account, grant, code.scopes, facts, with_refresh=code.is_offline)

    return faulted(sim, rules.platform, account.account_id, act)


def _refresh(sim: Simulation, rules: Rules, client_id: str, form: Mapping[str, str]) -> Answer:
    token = form.get("refresh_token", "")
    known = sim.grants.facts_of(token)
    whose = known.get("who")

    def act() -> Answer:
        if known.get("client", client_id) != client_id:
            raise BadGrant("another app's")
        account, facts = sim.grants.spend(token, rules.platform, once=rules.rotates)
        more: Answer = {name: facts[name] for name in ("orgs", "client") if name in facts}
        scopes = tuple(facts["scopes"])
        given = _tokens(sim, rules, account, facts["grant"], scopes, more, with_refresh=rules.rotates)
        if rules.platform == "LN":  # the same token, with its remaining lifetime
            left = int(facts["exp"] - sim.clock.now().timestamp())
            given |= {"refresh_token": token, "refresh_token_expires_in": left}
        return given

    return faulted(sim, rules.platform, whose[1] if whose else None, act)


def _tokens(
    sim: Simulation,
    rules: Rules,
    account: Account,
    grant: str,
    scopes: tuple[str, ...],
    facts: dict[str, Any],
    *,
    with_refresh: bool,
) -> Answer:
    given: Answer = {
        "access_token": sim.grants.access_token(
            account, grant, rules.access_seconds, scopes=list(scopes), **facts
        ),
        "expires_in": rules.access_seconds,
        "token_type": "bearer",
        "scope": rules.separator.join(scopes),
    }
    if with_refresh and rules.refresh_seconds is not None:
        given["refresh_token"] = sim.grants.refresh_token(
            account, grant, rules.refresh_seconds, scopes, **facts
        )
    return rules.shape(account, given)


def _organizations(code: Code) -> dict[str, Any]:
    """Returns, for LinkedIn, the company pages that the token gives access to; an empty dict for other platforms."""
    if code.person.platform != "LN":
        return {}
    return {"orgs": [[one.account_id, one.name, one.username] for one in code.person.accounts[1:]]}
