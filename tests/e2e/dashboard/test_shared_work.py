"""Tests the work of a collaborator in the dashboard: on the shared brand only, as far as the role permits, and no
longer than that.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest
import requests
from e2e_kit.accessibility import flaws
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.posting import schedule
from e2e_kit.stack import Stack
from e2e_kit.waiting import HEARD_SECONDS, until

from dashboard import words
from dashboard.cookies import SharedWork

SCREENS = (
    "/",
    "/calendar",
    "/posts",
    "/comments",
    "/compose",
    "/library",
    "/pages",
    "/brands",
    "/brands/{brand}",
    "/usage",
    "/account",
)


#: Read → the scope that it takes.
TRIED = {
    "/brands/{brand}": "read:brands",
    "/pages": "read:pages",
    "/posts/scheduled": "read:posts",
    "/media": "read:media",
    "/account": "read:account",
    "/webhooks": "manage:webhooks",
    "/brands/{brand}/collaborators": "manage:brands",
    "/audit": "manage:brands",
}


@dataclass
class Guest:
    """A person who is signed in, and the account whose brand is shared with the person."""

    person: Any
    owner: Account

    @property
    def works_on(self) -> str:
        window = self.person.window
        return " ".join(window.text(".shared p").split()) if window.has(".shared") else ""


@pytest.fixture
def owner(accounts: Accounts) -> Account:
    account = accounts.new(pages=("FB",))
    schedule(account, message="Rye bread today")
    return account


def shared(operator: Operator, owner: Account, user_id: str, role: str) -> None:
    operator("collaborator", "add", "--brand", owner.brand_id, "--user", user_id, "--role", role)


@pytest.fixture
def guest(stranger: Any, owner: Account, operator: Operator, request: pytest.FixtureRequest) -> Guest:
    """A collaborator of the owner's brand, with the role of the test's parameter. The guest also has a brand of their
    own.
    """
    shared(operator, owner, stranger.account.user_id, getattr(request, "param", "full"))
    stranger.open("/brands")
    stranger.sign_in()
    return Guest(stranger, owner)


def test_who_has_a_brand_of_their_own_chooses_and_goes_back(guest: Guest) -> None:
    person, window = guest.person, guest.person.window
    assert guest.works_on == ""
    window.press("[aria-labelledby=shared] button")
    assert guest.works_on == "You are working on Ada’s Corner Bakery Full access"
    assert "Rye bread today" in window.text("[aria-labelledby=next]")
    person.open("/brands")
    assert "Open now" in window.text("[aria-labelledby=shared]")
    assert not window.has("#new")
    window.press(".shared button")
    assert guest.works_on == ""
    assert "Rye bread today" not in window.text("main")


def test_the_menu_leads_from_any_screen_to_a_shared_brand_and_to_the_next_and_back(
    guest: Guest, accounts: Accounts, operator: Operator
) -> None:
    window, other = guest.person.window, accounts.new(pages=())
    market = accounts.brand(other.user_id, "Night Market")["id"]
    operator(
        "collaborator", "add", "--brand", market, "--user", guest.person.account.user_id, "--role", "limited"
    )

    def choose(action: str) -> None:
        window.click(".work summary")
        until(lambda: window.has(f".work form[action$='{action}'] button"), 20, "the brands are named")
        window.press(f".work form[action$='{action}'] button")

    guest.person.open("/calendar")
    assert "Your account" in window.text(".work summary")
    choose(guest.owner.brand_id)
    assert guest.works_on.startswith("You are working on Ada’s Corner Bakery Full access")
    window.click(".work summary")
    until(lambda: window.has(".work button"), 20, "the other brands are named")
    assert flaws(window) == []
    guest.person.open("/posts")
    choose(market)
    assert guest.works_on.startswith("You are working on Ada’s Night Market Limited access")
    choose("/own")
    assert guest.works_on == ""
    guest.person.open("/work")
    assert window.text("h1") == "Brands"


@pytest.mark.parametrize("guest", ["full", "limited"], indirect=True)
def test_every_screen_is_right_and_offers_nothing_that_the_role_forbids(guest: Guest) -> None:
    person, window = guest.person, guest.person.window
    window.press("[aria-labelledby=shared] button")
    role = guest.works_on.split()[-2]
    found, forbidden = {}, []
    for screen in SCREENS:
        person.open(screen.format(brand=guest.owner.brand_id))
        window.run("for (const it of document.querySelectorAll('details')) it.open = true")
        until(lambda: not window.has("[hx-trigger=load]"), 20, "the page is complete")
        if broken := flaws(window):
            found[screen] = broken
        assert window.run("return performance.getEntriesByType('navigation')[0].responseStatus") == 200, (
            screen
        )
        forbidden += window.run(
            'return [...document.querySelectorAll(\'a[href^="/developers"], a[href^="/activity"],'
            'form[action$="/pages/connect"], form[action$="/unlink"], .ai, form[action="/brands"]\')]'
            ".map(it => it.getAttribute('href') ?? it.getAttribute('action') ?? it.className)"
        )
    window.emulate_phone(0, 0, "")
    assert found == {}
    permitted = {"/developers", "/pages/connect", "ai"} if role == "Full" else set()
    assert {it for it in forbidden if not it.endswith("/unlink")} == permitted


@pytest.mark.parametrize("role", ["full", "limited"])
def test_the_table_of_what_a_role_may_do_is_what_the_api_permits(
    owner: Account, accounts: Accounts, role: str
) -> None:
    entered = accounts.enter(owner.brand_id, role)
    work = SharedWork("", "", "", "", role, entered["scopes"])
    permitted = {what: all(map(work.may, scopes.split())) for what, scopes, _ in words.RIGHTS}
    assert {what: role in roles for what, _, roles in words.RIGHTS} == permitted
    session = accounts.client(entered["session_token"])
    for path, scope in TRIED.items():
        assert (session.call("GET", path.format(brand=owner.brand_id)).status_code == 200) == work.may(
            scope
        ), path


def test_the_table_leaves_out_no_scope_of_the_api(stack: Stack) -> None:
    told = {scope for _, scopes, _ in words.RIGHTS for scope in scopes.split()}
    description = requests.get(f"{stack.base_url}/openapi.json", timeout=30).json()
    needed = set(re.findall(r"Needs the scope `([a-z:]+)`", json.dumps(description)))
    assert needed == set(words.SCOPES)
    # Everybody sees the brand; a collaborator's tokens and account are the person's own.
    assert needed - told == {"read:brands", "manage:tokens", "manage:account"}


@pytest.mark.parametrize("guest", ["limited"], indirect=True)
def test_what_the_role_forbids_is_refused_in_words_that_help(guest: Guest) -> None:
    """A person may open such a screen who knows its address, or who had it open when the role was changed."""
    person, window = guest.person, guest.person.window
    window.press("[aria-labelledby=shared] button")
    brand, page = guest.owner.brand_id, guest.owner.page_id()
    for path in ("/developers", "/developers/requests", "/activity/audit", "/compose/ai"):
        person.open(path)
        refused(window, path)
    assert flaws(window) == []
    for path, fields in (
        ("/pages/connect", {"platform": "FB", "brand_id": brand}),
        (f"/pages/{page}/unlink", {"cancel": "yes"}),
        (f"/brands/{brand}", {"name": "Mine", "zone": "UTC"}),
        (f"/brands/{brand}/archive", {}),
        (f"/brands/{brand}/invitations", {"email": "x@example.test", "role": "full"}),
        ("/compose/ai/image", {"ai_brand": brand, "ai_prompt": "Bread"}),
        ("/developers/webhooks", {"name": "x", "url": "https://example.com/", "event": "post.failed"}),
    ):
        person.open("/posts")
        window.send(path, **fields)
        refused(window, path)
    assert guest.owner.api.get(f"/brands/{brand}")["brand"]["name"] == "Corner Bakery"
    assert guest.owner.api.get("/pages")["pages"] != []


def refused(window: Any, path: str) -> None:
    """Asserts that the screen says what is the matter and what to do, without words for developers."""
    told = window.text("main")
    assert "Your role does not permit this: ask the owner of the brand." in told, (path, told)
    reason = window.text("[role=alert]") if window.has("[role=alert]") else told
    assert "token" not in reason.lower(), (path, reason)
    assert "You are working on Ada’s" in " ".join(told.split()), path


def test_who_has_no_brand_begins_with_the_shared_one(
    stranger: Any, owner: Account, operator: Operator, accounts: Accounts
) -> None:
    window = stranger.window
    shared(operator, owner, stranger.account.user_id, "limited")
    api = accounts.client(accounts.sign_in(stranger.account)["session_token"])
    for page in api.get("/pages")["pages"]:
        api.delete(f"/pages/{page['id']}")
    api.post(f"/brands/{stranger.account.brand_id}/archive", {}, 200)
    stranger.open("/")
    stranger.sign_in()
    assert (
        " ".join(window.text(".shared p").split()) == "You are working on Ada’s Corner Bakery Limited access"
    )


def test_the_owner_removes_somebody_who_goes_on_in_their_own_account(
    guest: Guest, operator: Operator
) -> None:
    person, window = guest.person, guest.person.window
    window.press("[aria-labelledby=shared] button")
    operator("collaborator", "remove", "--brand", guest.owner.brand_id, "--user", person.account.user_id)

    def is_over() -> bool:
        person.open("/posts")
        return not guest.works_on

    until(is_over, HEARD_SECONDS, "the gateway has heard of it")
    assert "You no longer work on that brand" in window.text("main")
    person.open("/posts")
    assert window.text("h1") == "Posts"


def test_a_token_that_is_made_meanwhile_reaches_this_brand_alone(guest: Guest, accounts: Accounts) -> None:
    person, window = guest.person, guest.person.window
    window.press("[aria-labelledby=shared] button")
    person.open("/developers")
    window.click("[aria-labelledby=tokens] .make summary")
    assert not window.has("input[name=scope][value^='manage:b']")
    window.type("#token-name", "For the till")
    window.click("input[name=scope][value='read:brands']")
    window.press("form[action$='/tokens'] button")
    api = accounts.client(window.run("return document.querySelector('#secret').value"))
    assert [it["id"] for it in api.get("/brands")["brands"]] == [guest.owner.brand_id]
    window.press("main a.button")
    assert "For the till" in window.text("[aria-labelledby=tokens]")


def test_signing_out_ends_both(guest: Guest, accounts: Accounts) -> None:
    window = guest.person.window
    window.emulate_phone(1280, 900, "light")
    window.press("[aria-labelledby=shared] button")
    own = accounts.client(window.cookies()["posthaste_session"])
    own.get("/me")
    window.press(".leave button")
    window.emulate_phone(0, 0, "")
    assert not {"posthaste_session", "posthaste_brand"} & set(window.cookies())
    until(lambda: own.call("GET", "/me").status_code == 401, HEARD_SECONDS, "every gateway has heard of it")
