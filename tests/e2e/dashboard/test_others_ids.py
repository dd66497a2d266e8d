"""Tries every address and form of the dashboard with another owner's ids. A stranger, both kinds of collaborators in
their own accounts, and a collaborator on another brand of the same owner get nothing and change nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests
from e2e_kit import secrecy
from e2e_kit.attacks.dashboard_rows import Form, Row, rows
from e2e_kit.files import uploaded
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.posting import tomorrow
from e2e_kit.receiver import Receiver, await_delivery
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

from dashboard.cookies import SharedWork, form_token, linking_proof

#: Words of the owner, which no page of somebody else may contain.
SECRET = "a-word-of-theirs"
ROLES = ("stranger", "limited", "full", "on another brand")
ROWS = rows()
#: Requests that are answered with the asker's own page, on which what was named does not occur.
OWN_PAGE = (
    "GET /developers/requests?", "GET /compose/library?", "GET /compose/files?",
    "GET /compose?media_id", "GET /compose?page",
    "GET /comments/of/{published}?", "POST /compose/check", "POST /compose/edit", "POST /compose page_id={page}",
    "GET /calendar?brand", "GET /posts?brand", "GET /comments?state=all&brand",
)  # fmt: skip


@dataclass(frozen=True)
class Theirs:
    """The owner, with one object of every kind."""

    account: Account
    ids: dict[str, str]
    session_token: str

    def shown(self) -> dict[str, Any]:
        """Returns all objects of the owner, as the owner's API client sees them."""
        paths = (
            "/brands/{brand}", "/pages/{page}", "/posts/{queued}", "/posts/{published}", "/media/{media}",
            "/comments?post_id={published}", "/webhooks/{webhook}", "/webhooks/{webhook}/deliveries?limit=100",
            "/posts/scheduled?status=all", "/posts/published", "/brands/{brand}/collaborators",
            "/brands/{brand}/invitations",
        )  # fmt: skip
        shown = {path: self.account.api.get(path.format(**self.ids)) for path in paths}
        token = self.account.api.get(f"/tokens/{self.ids['token']}")
        sessions = {it["id"] for it in self.account.api.get("/auth/sessions")["sessions"]}
        return shown | {
            "sessions": sessions,
            "token": {name: token[name] for name in ("name", "scopes", "revoked_at")},
        }


@pytest.fixture(scope="module")
def theirs(accounts: Accounts, simulator: Simulator, jpeg: bytes) -> Theirs:
    account = accounts.new(pages=(), scopes="*,manage:*")
    api, brand = account.api, accounts.brand(account.user_id, SECRET)["id"]
    page = accounts.page(brand)
    post = {"page_id": page["id"], "message": SECRET}
    published = api.post("/posts/publish", post)
    simulator.comment("FB", published["platform_post_id"], SECRET)
    [comment] = api.get("/comments", post_id=published["post_id"])["comments"]
    api.get(f"/posts/published/{published['post_id']}/engagement")  # read now, the figures stay as they are
    with Receiver() as receiver:
        hook = {"name": SECRET, "url": receiver.url("/"), "events": ["post.failed"]}
        webhook = api.post("/webhooks", hook)["id"]
        delivery = api.post(f"/webhooks/{webhook}/test", status=202)["id"]
        await_delivery(account, webhook, status="delivered")
    signed_in = accounts.sign_in(account)
    logged = until(lambda: api.get("/logs")["entries"], 30, "the log is written")
    invited = {"email": f"{SECRET}@example.test", "role": "full"}
    ids = {
        "invitation": api.post(f"/brands/{brand}/invitations", invited)["id"],
        "brand": brand, "page": page["id"], "published": published["post_id"], "comment": comment["id"],
        "queued": api.post("/posts/schedule", {**post, "scheduled_at": tomorrow()})["scheduled_post"]["id"],
        "media": uploaded(api, jpeg, f"{SECRET}.jpg")["media_id"],
        "session": api.post("/pages/connect", {"platform": "FB", "brand_id": brand})["session_id"],
        "job": api.post("/ai/images", {"prompt": SECRET, "brand_id": brand})["job"]["job_id"],
        "webhook": webhook, "delivery": delivery, "user": account.user_id, "token": account.token_id,
        "signed_in": signed_in["session"]["id"], "request": logged[0]["request_id"],
    }  # fmt: skip
    return Theirs(account, ids, signed_in["session_token"])


@pytest.fixture(scope="module")
def browsers(accounts: Accounts, operator: Operator, theirs: Theirs) -> dict[str, list[requests.Session]]:
    """Returns role → browsers that are signed in to accounts with that role. Each role has several, because one
    account may send only 300 requests a minute.
    """
    found: dict[str, list[requests.Session]] = {}
    for role in ROLES:
        for _ in range(2):
            other = accounts.new(pages=("FB",))
            is_inside = role == "on another brand"
            brand = theirs.account.brand_id if is_inside else theirs.ids["brand"]
            if role != "stranger":
                add = ("collaborator", "add", "--brand", brand, "--user", other.user_id)
                operator(*add, "--role", "full" if is_inside else role)
            browser = requests.Session()
            session = accounts.sign_in(other)["session_token"]
            browser.cookies.update({"posthaste_session": session, "posthaste_form": "k" * 43})
            # As if the linking had been begun in this browser: then the API has to refuse.
            browser.cookies["posthaste_linking"] = linking_proof("k" * 43, theirs.ids["session"])
            if is_inside:
                made = accounts.client(session).post(f"/auth/brands/{brand}/session", {})
                work = SharedWork(made["session_token"], brand, "Bakery", "Ada", "full", made["scopes"])
                browser.cookies["posthaste_brand"] = work.packed()
            browser.headers["X-Form-Token"] = form_token("k" * 43, session)
            found.setdefault(role, []).append(browser)
    return found


@pytest.fixture(scope="module", autouse=True)
def untouched(theirs: Theirs, browsers: Any) -> Iterator[None]:
    """Asserts at the end that all objects of the owner are unchanged."""
    before = theirs.shown()
    yield
    assert theirs.shown() == before


def filled(form: Form, ids: dict[str, str]) -> dict[str, Any]:
    """Returns the values to send in the form, with the owner's ids."""
    return {
        name.format(**ids): [it.format(**ids) for it in value]
        if isinstance(value, list)
        else value.format(**ids)
        for name, value in form.items()
    }


def sent(browser: requests.Session, url: str, row: Row, ids: dict[str, str]) -> requests.Response:
    headers = {"HX-Request": "true"} if row.is_part else {}
    return browser.request(
        row.method, url + row.address.format(**ids), data=filled(row.form, ids), headers=headers, timeout=60,
        allow_redirects=False,
    )  # fmt: skip


def test_the_table_holds_every_route_and_enough_cases() -> None:
    assert len(ROWS) * len(ROLES) >= 60
    assert len(set(map(str, ROWS))) > 50


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_nothing_of_somebody_else_is_shown_or_changed(
    row: Row, role: str, theirs: Theirs, browsers: dict[str, list[requests.Session]], stack: Stack
) -> None:
    browser = browsers[role][hash(str(row)) % 2]
    if row.address == "/work/{brand}":
        begins_only_where_it_is_shared(browser, row, role, theirs, stack)
        return
    answer = sent(browser, stack.env["DASHBOARD_URL"], row, theirs.ids)
    secrecy.note(SECRET)
    assert SECRET not in answer.text
    if row.method == "GET" and row.address.endswith("/reconnect"):
        assert answer.headers["Location"].startswith("/pages#")  # whatever the id
    elif role in ("full", "on another brand") and row.address == "/developers/tokens":
        # Spec: with full access they make tokens that are bound to the brand: the one that they work on.
        assert answer.status_code == 200
    elif str(row).startswith(OWN_PAGE):
        assert answer.status_code in (200, 302, 403, 404), answer.text
    else:
        assert answer.status_code in (400, 403, 404), answer.text


def begins_only_where_it_is_shared(
    browser: requests.Session, row: Row, role: str, theirs: Theirs, stack: Stack
) -> None:
    kept = browser.cookies.copy()
    answer = sent(browser, stack.env["DASHBOARD_URL"], row, theirs.ids)
    browser.cookies = kept
    is_shared = role in ("limited", "full")
    assert ("posthaste_brand" in answer.cookies) == is_shared
    assert answer.headers["Location"] == ("/" if is_shared else "/brands?ended=1")


def test_the_owner_gets_what_the_others_do_not(theirs: Theirs, stack: Stack) -> None:
    """Proves that the tested addresses exist. Otherwise the tests above would prove nothing."""
    browser = requests.Session()
    browser.cookies.update({"posthaste_session": theirs.session_token, "posthaste_form": "k" * 43})
    shown = [
        row for row in ROWS
        if row.method == "GET" and SECRET in sent(browser, stack.env["DASHBOARD_URL"], row, theirs.ids).text
    ]  # fmt: skip
    assert len(shown) >= 12
