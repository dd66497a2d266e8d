"""Brands and their people."""

import uuid
from typing import Any

from e2e_kit.mails import await_mail
from e2e_kit.operator import Accounts, Operator
from e2e_kit.stack import Stack


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
    assert ("Night Market East", "Asia/Tokyo") in {
        (it["name"], it["timezone"]) for it in person.account.api.get("/brands")["brands"]
    }


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
    window.press(f"button[aria-label='Make full: {other.email}']")
    assert "Full" in window.text("[aria-labelledby=people]")
    window.click("[aria-labelledby=people] .manage summary")
    window.press(f"button[aria-label='Remove from the brand: {other.email}']")
    assert other.email not in window.text("[aria-labelledby=people]")


def test_somebody_is_invited_by_mail_and_the_invitation_is_withdrawn(person: Any, stack: Stack) -> None:
    email, window = f"{uuid.uuid4().hex}@example.test", person.window
    person.open(f"/brands/{person.account.brand_id}")
    window.click("#invite summary")
    window.type("#invited", email)
    window.press("#invite form button")
    assert "The invitation is sent" in window.text("[role=status]")
    assert await_mail(stack, email, "invited to work on a brand")
    window.press(f"button[aria-label='Withdraw the invitation of {email}']")
    assert "The invitation is withdrawn" in window.text("[role=status]")
    assert email not in window.text("[aria-labelledby=people]")


def test_another_s_brand_is_not_there(person: Any, accounts: Accounts) -> None:
    person.open(f"/brands/{accounts.new(pages=()).brand_id}")
    assert person.window.text("h1") == "There is nothing here"


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
