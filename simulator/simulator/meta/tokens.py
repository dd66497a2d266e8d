"""Handlers for tokens and people in the Graph API: code exchange, debug_token, /me and its edges (docs/platforms.md,
section 1).
"""

from typing import Any

from flask import Response

from simulator.accounts import Account
from simulator.meta import callers, facebook_views, paging
from simulator.meta.call import Call, Edge, Edges, Node
from simulator.meta.errors import GraphError
from simulator.meta.fields import View, project
from simulator.oauth import dialog
from simulator.oauth.grants import BadGrant
from simulator.simulation import Simulation

#: Lifetime of a user's long-lived token: 60 days, less the hours by which Meta shortens it (platforms.md 1).
LONG_LIVED_SECONDS = 5_183_944
#: Lifetime of a user's short-lived token; Meta's live an hour or two.
SHORT_LIVED_SECONDS = 3_600
_DATA_ACCESS_SECONDS = 90 * 86_400
_SCOPES = (
    "pages_show_list", "pages_read_engagement", "pages_manage_posts", "pages_manage_engagement",
    "pages_read_user_content", "pages_manage_metadata", "business_management", "instagram_basic",
    "instagram_content_publish", "instagram_manage_comments", "instagram_manage_insights",
    "ads_read",
)  # fmt: skip


def exchange(sim: Simulation, query: dict[str, str]) -> dict[str, Any]:
    """Answers GET /oauth/access_token. Raises GraphError for an invalid secret, code or token.

    The parameter `grant_type` chooses one of three answers. By default, a code is exchanged for a user's short-lived
    token. `fb_exchange_token` exchanges a user's token for a long-lived one. `client_credentials` returns the app's own
    token.
    """
    secret = sim.settings.meta_app_secret
    if query.get("client_id") != sim.settings.meta_app_id or (
        secret and query.get("client_secret") != secret
    ):
        raise GraphError(1, "Error validating client secret.")
    grant = query.get("grant_type", "authorization_code")
    if grant == "client_credentials":
        return {"access_token": f"{sim.settings.meta_app_id}|{secret}", "token_type": "bearer"}
    if grant == "fb_exchange_token":
        short = query.get("fb_exchange_token", "")
        holder = callers.caller_of(sim, short, "")
        facts = {key: value for key, value in sim.accounts.facts(short).items() if key in ("grant", "scopes")}
        seconds = LONG_LIVED_SECONDS
    else:
        holder, facts = _who_allowed(sim, query)
        seconds = SHORT_LIVED_SECONDS
    token = sim.grants.access_token(holder, facts.pop("grant", ""), seconds, **facts)
    return {"access_token": token, "token_type": "bearer", "expires_in": seconds}


def _who_allowed(sim: Simulation, query: dict[str, str]) -> tuple[Account, dict[str, Any]]:
    """Returns the person who gave the code, and the values that the token will contain. Raises GraphError 100 if the
    code is not valid.
    """
    try:
        code = sim.grants.redeem(
            query.get("code", ""), sim.settings.meta_app_id, query.get("redirect_uri", ""), ""
        )
    except BadGrant as problem:
        raise GraphError(100, "This authorization code has been used.", 36009) from problem
    person = code.person
    who = Account(callers.USER.platform, person.person_id, person.name, "sam")
    return who, {"grant": sim.grants.open(person), "scopes": list(code.scopes)}


def permissions(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /me/permissions. The permissions that the token has are `granted`. The permissions that the person
    withholds from our app are `declined`.
    """
    person = call.sim.grants.known(node.account_id)
    withheld = person.withholds if person else ()
    rows = [(name, "declined" if name in withheld else "granted") for name in _SCOPES]
    return {
        "data": [
            {"permission": name, "status": status}
            for name, status in rows
            if status == "declined" or call.allows(name)
        ]
    }


def debug(sim: Simulation, query: dict[str, str]) -> dict[str, Any]:
    """Answers GET /debug_token: describes the token `input_token`. Raises GraphError unless `access_token` is the app's
    own token or another valid one.
    """
    asking = query.get("access_token", "")
    if asking != f"{sim.settings.meta_app_id}|{sim.settings.meta_app_secret}":
        callers.caller_of(sim, asking, "")
    holder = sim.accounts.holder(query.get("input_token", ""))
    if holder is None:
        error = {"code": 190, "message": "Invalid OAuth access token - Cannot parse access token"}
        return {"data": {"error": error, "is_valid": False, "scopes": []}}
    valid = not sim.accounts.is_expired(holder.account_id)
    now = int(sim.clock.now().timestamp())
    withheld = _withheld(sim, holder.account_id)
    given = sim.accounts.facts(query.get("input_token", "")).get("scopes", _SCOPES)
    data: dict[str, Any] = {
        "app_id": sim.settings.meta_app_id,
        "type": "USER" if holder.platform == callers.USER.platform else "PAGE",
        "application": "Posthaste",
        "data_access_expires_at": now + _DATA_ACCESS_SECONDS,
        # A page's token never expires.
        "expires_at": now + LONG_LIVED_SECONDS if holder.platform == callers.USER.platform else 0,
        "is_valid": valid,
        "scopes": [name for name in _SCOPES if name in given and name not in withheld],
        "profile_id": holder.account_id,
        "user_id": callers.USER.account_id,
    }
    if not valid:
        data["error"] = {"code": 190, "message": "Session has expired", "subcode": 463}
    return {"data": data}


def _withheld(sim: Simulation, account_id: str) -> tuple[str, ...]:
    person = sim.grants.known(account_id) or sim.grants.owner(account_id)
    return person.withholds if person else ()


def pages(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /me/accounts: the pages of the person."""
    person = call.sim.grants.known(node.account_id)
    return _page_list(call, person.accounts if person else [])


def businesses(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /me/businesses: the person's business portfolio, if there is one. Raises GraphError 200 if the
    person withholds `business_management`.
    """
    person = call.sim.grants.known(node.account_id)
    if person is not None and "business_management" in person.withholds:
        raise GraphError(200, "(#200) Requires business_management permission to manage the object")
    has_one = person is not None and person.business
    return {"data": [{"id": person.business_id, "name": "Sample Ltd"}] if person and has_one else []}


def owned_pages(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{business}/owned_pages: the pages of a business portfolio."""
    return _page_list(call, node.thing.business)


def client_pages(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{business}/client_pages with an empty list."""
    return {"data": []}


def _page_list(call: Call, known: list[Account]) -> dict[str, Any]:
    fields = call.fields("access_token,category,name,id,tasks")
    if any(one.name == "instagram_business_account" for one in fields) and not call.allows("instagram_basic"):
        # Our choice, the stricter: it is not documented whether Meta omits the field or refuses the call.
        raise GraphError(10, "(#10) This field requires the 'instagram_basic' permission.")

    def show(account: Account) -> dict[str, Any]:
        return project("Page", facebook_views.PAGE, account, fields, call)

    return paging.page(known, lambda account: account.account_id, show, call)


def user(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /me with a user's token: the requested fields of the person."""
    return project("User", USER, node.thing, call.fields("id,name"), call)


USER: View = {
    "id": lambda t, f, c: t.account_id,
    "name": lambda t, f, c: t.name,
}


def log_in(sim: Simulation) -> Response:
    """Answers GET /dialog/oauth with the login page, or a redirect to our app."""
    denial = {
        "error": "access_denied",
        "error_code": "200",
        "error_description": "Permissions error",
        "error_reason": "user_denied",
    }
    return dialog.answer(
        sim, "FB", client_id=sim.settings.meta_app_id, separator=",", known_scopes=_SCOPES, denial=denial
    )


EDGES: Edges = {
    ("GET", "User", ""): Edge("token", user),
    ("GET", "User", "accounts"): Edge("token", pages),
    ("GET", "User", "permissions"): Edge("token", permissions),
    ("GET", "User", "businesses"): Edge("token", businesses),
    ("GET", "Business", "owned_pages"): Edge("token", owned_pages),
    ("GET", "Business", "client_pages"): Edge("token", client_pages),
}
