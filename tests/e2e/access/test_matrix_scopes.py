"""The scope matrix: calls every route with tokens that hold one single scope each. The tables of docs/spec.md and
docs/decisions.md name the scope that a route needs.
"""

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from e2e_kit.api import Api, error_code, told
from e2e_kit.operator import Account, Accounts
from e2e_kit.stack import Stack

DOCS = Path(__file__).parents[3] / "docs"
#: A table row that names a route and then a scope.
ROUTE_CELL = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE) \|? ?(/[^\s?]*)")
SCOPE_CELL = re.compile(r"^ ?((?:read|write|manage):[a-z]+|\*) ?$")
#: Scopes that the documents state in a sentence instead of a table.
SENTENCES = {
    "POST /media/uploads": "write:media",
    "POST /media/uploads/{id}/complete": "write:media",
    # Spec "AI generation": all AI endpoints.
    "POST /ai/images": "write:ai",
    "POST /ai/images/edit": "write:ai",
    "POST /ai/videos": "write:ai",
    "POST /ai/captions": "write:ai",
    "GET /ai/jobs": "write:ai",
    "GET /ai/jobs/{id}": "write:ai",
}
#: Not in the documents: one file of GET /media.
OURS = {"GET /media/{id}": "read:media"}
#: Routes that need no token, or accept any.
FREE = {
    "GET /", "GET /errors", "GET /openapi.json", "GET /me", "GET /media/{key}/{filename}", "POST /auth/signup",
    "GET /hooks/{platform}", "POST /hooks/{platform}", "POST /hooks/stripe", "GET /connect/{platform}/callback",
    "GET /connect/start/{session_id}", "POST /connect/start/{session_id}",
    "GET /auth/verify/{user_id}/{code}", "POST /auth/verify/{user_id}/{code}", "POST /auth/email/verify",
    "POST /auth/email/verify/open",
    "GET /auth/email/{change_id}/{code}", "POST /auth/email/{change_id}/{code}", "POST /auth/email/confirm",
    "GET /auth/reset/{reset_id}/{code}", "POST /auth/reset/{reset_id}/{code}", "POST /auth/login", "POST /auth/logout",
    "GET /auth/invitations/{invitation_id}/{code}", "POST /auth/invitations/{invitation_id}/{code}",
    "POST /auth/invitations/open", "POST /auth/invitations/accept", "POST /auth/password/forgot",
    "POST /auth/password/reset",
}  # fmt: skip
#: Scopes that `*` does not include.
ACCOUNT_SCOPES = ("manage:account", "manage:tokens", "manage:brands")
WILDCARDS = ("*", "manage:*")
#: Response to `{}` with a sufficient token; `expected` has the others.
ANSWERS = {
    "GET /comments": (400, "MISSING_FIELD"),
    "GET /posts": (400, "MISSING_FIELD"),
    "GET /posts/calendar": (400, "MISSING_FIELD"),
    "DELETE /auth/email/change": (200, None),
    "PATCH /account": (200, None),
    "POST /auth/brands/{id}/session": (400, "VALIDATION_ERROR"),  # a token of the API enters no brand
    "GET /account/sandbox-token": (400, "VALIDATION_ERROR"),  # nor is it shown the sandbox token
    "POST /brands/{id}/invitations": (400, "MISSING_FIELD"),
    "PATCH /brands/{id}/collaborators/{user_id}": (400, "MISSING_FIELD"),
    "POST /pages/connect/{session_id}": (400, "MISSING_FIELD"),
    "POST /media/uploads/{id}/complete": (400, "MISSING_FIELD"),
    "POST /media/upload": (415, "UNSUPPORTED_MEDIA_TYPE"),
}


def documented() -> dict[str, str]:
    """Returns the scope of each route, as the tables in spec.md and decisions.md have it."""
    found = dict(SENTENCES)
    for name in ("spec.md", "decisions.md"):
        for line in (DOCS / name).read_text().splitlines():
            route = ROUTE_CELL.search(line)
            scopes = [cell.group(1) for part in line.split("|") if (cell := SCOPE_CELL.match(part))]
            if line.startswith("|") and route and len(scopes) == 1:
                found[f"{route.group(1)} {route.group(2)}"] = scopes[0]
    return found


def described(api: Api) -> dict[str, str]:
    """Returns the scope of each route that needs one, as /openapi.json has it."""
    found = {}
    for path, operations in api.get("/openapi.json")["paths"].items():
        for method, operation in operations.items():
            scope = re.search(r"Needs the scope `(.+?)`", operation.get("description", ""))
            if scope:
                found[f"{method.upper()} {path}"] = scope.group(1)
            else:
                assert f"{method.upper()} {path}" in FREE, "a route without a scope that nobody decided on"
    return found


def named_scopes() -> list[str]:
    """Returns the scopes of the table in spec.md and those that decisions.md adds, for changing pages and managing the
    account.
    """
    rows = re.findall(r"^\| ([a-z]+:[a-z]+|\*) \| \w+ \| ", (DOCS / "spec.md").read_text(), re.MULTILINE)
    return [*rows, "write:pages", *ACCOUNT_SCOPES, "manage:*"]


def includes(held: str, needed: str) -> bool:
    """Whether a token with the scope `held` may call a route that needs the scope `needed`, by the rules of
    decisions.md for `*` and `manage:*`.
    """
    everything_else = held == "*" and needed not in ACCOUNT_SCOPES
    return held == needed or everything_else or (held == "manage:*" and needed.startswith("manage:"))


def expected(route: str) -> tuple[int, str | None]:
    """Returns status and error code of a permitted call with the body `{}` and, where the path has an id, an unknown
    id.
    """
    if route in ANSWERS:
        return ANSWERS[route]
    if "{" in route:
        return 404, "NOT_FOUND"
    return (200, None) if route.startswith("GET") else (400, "MISSING_FIELD")


def test_the_description_asks_for_the_scopes_of_the_documents(accounts: Accounts) -> None:
    assert described(accounts.client(None)) == documented() | OURS


@pytest.mark.parametrize("role", ["full", "limited"])
def test_a_collaborators_session_may_call_what_the_role_permits_and_nothing_else(
    account: Account, accounts: Accounts, role: str
) -> None:
    entered = accounts.enter(account.brand_id, role)
    api, held = accounts.client(entered["session_token"]), entered["scopes"]
    permitted = 0
    for route, needed in described(api).items():
        method, path = route.split()
        body = {"json": {}} if method in ("POST", "PUT", "PATCH") else {}
        answer = api.call(method, re.sub(r"{\w+}", "x_1", path), **body)
        may = any(includes(one, needed) for one in held)
        assert (error_code(answer) != "MISSING_SCOPE") == may, f"with {held}: {told(answer)}"
        assert may or answer.json()["required_scope"] == needed
        permitted += may
    print(f"{role}: {permitted} routes permitted, the others refused")
    assert not set(held) & {*ACCOUNT_SCOPES, "manage:*"}


@pytest.mark.parametrize("form", ["alone", "all others"])
def test_every_route_asks_every_token_for_its_scope_and_for_nothing_else(
    accounts: Accounts, stack: Stack, form: str
) -> None:
    """Each token belongs to another account, because an account may send only 300 requests a minute."""
    scopes = named_scopes()
    assert len(scopes) == 17, scopes
    routes = described(accounts.client(None))
    single = [scope for scope in scopes if scope not in WILDCARDS]
    held = {
        scope: {scope} if form == "alone" or scope in WILDCARDS else {*single} - {scope} for scope in scopes
    }
    clients = {scope: accounts.new(pages=(), scopes=",".join(sorted(held[scope]))).api for scope in scopes}

    def ask(scope: str) -> Counter[str]:
        seen: Counter[str] = Counter()
        for route, needed in routes.items():
            method, path = route.split()
            body = {"json": {}} if method in ("POST", "PUT", "PATCH") else {}
            answer = clients[scope].call(method, re.sub(r"{\w+}", "x_1", path), **body)
            may = any(includes(one, needed) for one in held[scope])
            wanted = expected(route) if may else (403, "MISSING_SCOPE")
            assert (answer.status_code, error_code(answer)) == wanted, f"with {held[scope]}: {told(answer)}"
            if not may:
                error = answer.json()
                assert (error["required_scope"], set(error["your_scopes"])) == (needed, held[scope])
            seen[wanted[1] or "OK"] += 1
        return seen

    with ThreadPoolExecutor(4) as pool:
        seen = sum(pool.map(ask, scopes), Counter())
    assert seen.total() == len(scopes) * len(routes)
    print(
        f"scopes {form}: {len(scopes)} tokens × {len(routes)} routes = {seen.total()} answers, {dict(seen)}"
    )
