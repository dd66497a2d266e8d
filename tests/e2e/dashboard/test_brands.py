"""Tests brands and their people, and how an invited person begins to work on a brand."""

import datetime as dt
import re
import uuid
from typing import Any

import pyotp
import pytest
from e2e_kit.accessibility import flaws
from e2e_kit.api import Json
from e2e_kit.mails import await_mail, await_url
from e2e_kit.operator import Account, Accounts, Clock, Operator
from e2e_kit.stack import Stack

SUBJECT = "invited to work on a brand"
GUESTS = "the guest's own"


def test_a_brand_is_made_and_changed(person: Any) -> None:
    window = person.window
    person.open("/brands")
    window.click("#new summary")
    window.type("#name", "Night Market")
    window.run("document.querySelector('#zone').value = 'Asia/Tokyo'")
    window.press("#new form button")
    assert window.text("h1") == "Night Market"
    window.type("#name", " East")
    window.press("#change button")
    assert "Your change is saved" in window.text("[role=status]")
    assert flaws(window) == []

    def brands() -> set[tuple[str, str]]:
        return {(it["name"], it["timezone"]) for it in person.account.api.get("/brands")["brands"]}

    assert ("Night Market East", "Asia/Tokyo") in brands()
    window.press("[role=status] button")  # undo
    assert window.text("h1") == "Night Market"
    assert ("Night Market", "Asia/Tokyo") in brands()
    assert not window.has("[role=status] button")


def test_what_ai_is_told_about_a_brand_is_changed_and_removed(person: Any) -> None:
    window, brand = person.window, f"/brands/{person.account.brand_id}"

    def told() -> tuple[str | None, str | None]:
        found = person.account.api.get(brand)["brand"]
        return found["caption_guidelines"], found["image_guidelines"]

    person.open(brand)
    window.type("#caption_guidelines", "Warm and short")
    window.press("[aria-labelledby=voice] button")
    assert "Your change is saved" in window.text("[role=status]")
    assert told() == ("Warm and short", None)
    assert window.run("return document.querySelector('#caption_guidelines').value") == "Warm and short"
    assert flaws(window) == []
    window.run("document.querySelector('#caption_guidelines').value = ''")
    window.press("[aria-labelledby=voice] button")
    assert told() == (None, None)


def test_a_brand_without_pages_is_archived_and_restored(person: Any, accounts: Accounts) -> None:
    window, api = person.window, person.account.api
    market = accounts.brand(person.account.user_id, "Night Market")["id"]
    person.open(f"/brands/{person.account.brand_id}")  # which has pages
    assert "To archive it, first unlink its pages." in window.text("[aria-labelledby=archive]")
    assert window.run("return document.querySelector('form[action$=archive] button').disabled")
    person.open(f"/brands/{market}")
    window.press("form[action$=archive] button")
    assert "The brand is archived. Its posts stay; it gets no new pages." in window.text("[role=status]")
    assert "Archived" in window.text(".heading")
    assert flaws(window) == []
    assert market not in {it["id"] for it in api.get("/brands")["brands"]}
    person.open("/brands")
    assert "Night Market" not in window.text("[aria-labelledby=own]")
    window.press("a[href='/brands?archived=yes']")
    assert "Night Market" in window.text("[aria-labelledby=own]")
    assert flaws(window) == []
    window.press(f"a[href='/brands/{market}']")
    window.press("form[action$=restore] button")
    assert "The brand is restored." in window.text("[role=status]")
    assert not window.has(".heading .status")
    assert market in {it["id"] for it in api.get("/brands")["brands"]}


def test_a_brand_with_pages_is_not_archived_even_if_the_button_is_forced(person: Any) -> None:
    window, brand = person.window, person.account.brand_id
    person.open(f"/brands/{brand}")
    window.run("document.querySelector('form[action$=archive] button').disabled = false")
    window.press("form[action$=archive] button")
    assert "page" in window.text("[role=alert]")
    assert flaws(window) == []
    assert brand in {it["id"] for it in person.account.api.get("/brands")["brands"]}


def test_what_a_role_may_do_has_room_on_a_phone(person: Any) -> None:
    window = person.window
    window.emulate_phone(360, 800, "light")
    person.open(f"/brands/{person.account.brand_id}")
    wide = window.run("return document.querySelector('#roles tbody th').getBoundingClientRect().width")
    assert wide >= 150
    heads = "[...document.querySelectorAll('#roles thead th')]"
    assert window.run(f"return {heads}.filter(it => it.scrollWidth > it.clientWidth).length") == 0
    window.emulate_phone(0, 0, "")


def test_a_collaborator_gets_another_role_and_is_removed(
    person: Any, accounts: Accounts, operator: Operator
) -> None:
    other, brand = accounts.new(pages=()), person.account.brand_id
    operator("collaborator", "add", "--brand", brand, "--user", other.user_id, "--role", "limited")
    window = person.window
    person.open(f"/brands/{brand}")
    assert other.email in window.text("[aria-labelledby=people]")
    window.click("[aria-labelledby=people] .manage summary")
    window.press(f"button[aria-label='Give full access: {other.email}']")
    assert "Full" in window.text("[aria-labelledby=people]")
    window.click("[aria-labelledby=people] .manage summary")
    assert flaws(window) == []
    window.press(f"button[aria-label='Remove from the brand: {other.email}']")
    assert other.email not in window.text("[aria-labelledby=people]")


def test_somebody_is_invited_by_mail_and_the_invitation_is_withdrawn(
    person: Any, stack: Stack, accounts: Accounts
) -> None:
    email, window = f"{uuid.uuid4().hex}@example.test", person.window
    person.open(f"/brands/{person.account.brand_id}")
    window.click("#invite summary")
    window.type("#invited", email)
    window.press("#invite form button")
    assert "ends the link in its email at once" in window.text("[aria-labelledby=people]")
    assert "The invitation is sent" in window.text("[role=status]")
    session = accounts.client(person.session_token)
    [made] = session.get(f"/brands/{person.account.brand_id}/invitations")["invitations"]
    day = dt.datetime.fromisoformat(made["expires_at"]).day  # in UTC, as the person reads times
    assert re.search(rf"Expires .*\b{day}\b", window.text("[aria-labelledby=people]"))
    assert await_mail(stack, email, SUBJECT)
    assert flaws(window) == []
    window.press(f"button[aria-label='Withdraw the invitation of {email}']")
    assert "The invitation is withdrawn" in window.text("[role=status]")
    assert email not in window.text("[aria-labelledby=people]")


def test_another_s_brand_is_not_there(person: Any, accounts: Accounts) -> None:
    person.open(f"/brands/{accounts.new(pages=()).brand_id}")
    assert person.window.text("h1") == "There is nothing here"


def invited(owner: Account, accounts: Accounts, email: str, role: str = "full") -> Json:
    """Invites an address to the owner's brand. Returns the invitation."""
    api = accounts.client(accounts.sign_in(owner)["session_token"])
    return api.post(f"/brands/{owner.brand_id}/invitations", {"email": email, "role": role})


def looks_right(window: Any) -> None:
    """Checks the present page in every width, in the light and the dark scheme."""
    assert flaws(window) == []


def test_an_invited_newcomer_accepts_in_the_dashboard_and_works_on_the_brand(
    stranger: Any, accounts: Accounts, stack: Stack
) -> None:
    window, email = stranger.window, f"{uuid.uuid4().hex}@example.test"
    invited(stranger.account, accounts, email)
    link = await_url(stack, email, SUBJECT)
    assert link.startswith(f"{stranger.url}/invitations/")
    window.open(link)
    assert window.text("h1") == "Join Corner Bakery"
    assert stranger.account.email in window.text("main")
    assert "With full access you can publish for the brand" in window.text("main")
    looks_right(window)
    window.type("#firstname", "Sam")
    window.type("#password", GUESTS)
    window.press("main form button")
    assert window.text("h1") == "Overview"
    assert "You are working on Ada’s Corner Bakery Full access" in " ".join(window.text(".shared p").split())
    stranger.open("/account")
    assert email in window.text("main")
    assert window.run("return document.querySelector('#firstname').value") == "Sam"
    window.open(link)
    assert window.text("h1") == "This link does not work"
    looks_right(window)


def test_who_has_an_account_accepts_with_its_password_and_works_on_the_brand(
    stranger: Any, accounts: Accounts, stack: Stack
) -> None:
    """The invited person also has a brand of their own."""
    window, guest = stranger.window, accounts.new(pages=())
    accounts.sign_in(guest, GUESTS)
    invited(stranger.account, accounts, guest.email, "limited")
    window.open(await_url(stack, guest.email, SUBJECT))
    assert not window.has("#firstname")
    assert "With limited access you can write posts" in window.text("main")
    window.type("#password", "not this one")
    window.press("main form button")
    assert "not the password of the account" in window.text("[role=alert]")
    looks_right(window)
    window.type("#password", GUESTS)
    window.press("main form button")
    assert "Corner Bakery Limited access" in " ".join(window.text(".shared p").split())
    window.press(".shared button")
    assert not window.has(".shared")
    stranger.open("/account")
    assert guest.email in window.text("main")


def test_who_signs_in_with_codes_of_an_app_accepts_with_one_and_signs_in_with_the_next(
    stranger: Any, accounts: Accounts, operator: Operator, stack: Stack
) -> None:
    window, guest = stranger.window, accounts.new(pages=())
    session = accounts.client(accounts.sign_in(guest, GUESTS)["session_token"])
    app = pyotp.TOTP(session.post("/auth/totp", {"password": GUESTS})["secret"])
    confirmed = session.post("/auth/totp/confirm", {"totp_code": app.at(Clock(operator).now())}, 200)
    first, second, *_ = confirmed["recovery_codes"]
    invited(stranger.account, accounts, guest.email)
    window.open(await_url(stack, guest.email, SUBJECT))
    window.type("#password", GUESTS)
    window.type("#code", "000000")
    window.press("main form button")
    assert "That code is wrong" in window.text("[role=alert]")
    looks_right(window)
    window.type("#password", GUESTS)
    window.type("#code", first)
    window.press("main form button")
    assert window.text("h1") == "You work on Corner Bakery now"
    looks_right(window)
    window.press("main a.primary")
    window.type("#email", guest.email)
    window.type("#password", GUESTS)
    window.press("main form button")
    window.type("#password", GUESTS)
    window.type("#code", second)
    window.press("main form button")
    assert "Corner Bakery" in window.text("[aria-labelledby=shared]")


@pytest.mark.parametrize("spoilt", ["withdrawn", "cut off"])
def test_a_link_that_does_not_work_says_whom_to_ask(
    stranger: Any, accounts: Accounts, stack: Stack, spoilt: str
) -> None:
    window, email = stranger.window, f"{uuid.uuid4().hex}@example.test"
    made = invited(stranger.account, accounts, email)
    link = await_url(stack, email, SUBJECT)
    if spoilt == "withdrawn":
        api = accounts.client(accounts.sign_in(stranger.account)["session_token"])
        api.delete(f"/brands/{stranger.account.brand_id}/invitations/{made['id']}")
    else:
        link = link[:-2]
    window.open(link)
    assert window.text("h1") == "This link does not work"
    assert "ask the person who invited you" in window.text("main")


def test_on_a_phone_the_state_of_a_page_is_below_its_name_and_begins_where_it_does(person: Any) -> None:
    window = person.window
    window.emulate_phone(360, 800, "light")
    person.open(f"/brands/{person.account.brand_id}")
    name, state = window.run(
        "const row = document.querySelector('[aria-labelledby=pages] .row');"
        "return ['.grow', '.status'].map(it => row.querySelector(it).getBoundingClientRect())"
        ".map(it => [Math.round(it.left), Math.round(it.top), Math.round(it.bottom)])"
    )
    window.emulate_phone(0, 0, "")
    assert state[0] == name[0]
    assert state[1] >= name[2]
