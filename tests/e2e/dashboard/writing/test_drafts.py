"""Tests the drafts that a browser keeps: one for a new post, and one for each post, page or file from which a post was
begun. None overwrites another.
"""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from e2e_kit.files import uploaded
from e2e_kit.operator import Accounts
from e2e_kit.posting import tomorrow
from e2e_kit.waiting import until

MESSAGE = "return document.querySelector('#message').value"
CHOSEN = "return [...document.querySelectorAll('[name=page_id]:checked')].map(it => it.dataset.platform)"
NAMES = "return [...document.querySelectorAll('#files .name')].map(it => it.textContent)"


def choose(person: Any, platform: str) -> None:
    person.window.click(f"input[name=page_id][value={person.account.page_id(platform)}]")


def message_at(person: Any, path: str) -> str:
    person.open(path)
    return str(person.window.run(MESSAGE))


@pytest.fixture
def writer(person: Any) -> Any:
    """A person with a draft of a new post and a scheduled post on X."""
    body = {"page_id": person.account.page_id("TW"), "message": "Rye bread", "scheduled_at": tomorrow()}
    person.post_id = person.account.api.post("/posts/schedule", body)["scheduled_post"]["id"]
    person.open("/compose")
    choose(person, "FB")
    person.window.type("#message", "Half a thought")
    return person


def test_the_day_of_the_calendar_is_taken_into_the_draft(writer: Any) -> None:
    window = writer.window
    day = (dt.datetime.now(dt.UTC).replace(day=1) + dt.timedelta(days=32)).replace(day=15)
    window.click("input[name=when][value=later]")
    window.click("input[name=when][value=now]")
    writer.open(f"/calendar?month={day:%Y-%m}")
    window.press(f"[data-day='{day:%Y-%m-%d}'] .add")
    assert window.run("return document.querySelector('#date').value") == f"{day:%Y-%m-%d}"
    assert window.run("return document.querySelector('[name=when]:checked').value") == "later"
    assert window.run(MESSAGE) == "Half a thought"
    assert window.run(CHOSEN) == ["FB"]


def test_a_copy_has_a_draft_of_its_own_which_survives_a_reload(writer: Any) -> None:
    window, copy = writer.window, f"/compose?copy={writer.post_id}"
    assert message_at(writer, copy) == "Rye bread"
    assert window.run("return document.querySelector('#kept').hidden")
    window.type("#message", " with caraway")
    choose(writer, "TW")  # takes it out
    choose(writer, "FB")
    assert message_at(writer, "/compose") == "Half a thought"
    assert message_at(writer, copy) == "Rye bread with caraway"
    assert window.run(CHOSEN) == ["FB"]
    assert "Draft kept in this tab" in window.text("#kept")
    window.press("#discard")
    assert window.run(MESSAGE) == "Rye bread"
    assert message_at(writer, "/compose") == "Half a thought"


def test_a_post_for_one_page_leaves_the_other_draft_as_it_is(writer: Any) -> None:
    window, path = writer.window, f"/compose?page={writer.account.page_id('IG')}"
    assert message_at(writer, path) == ""
    assert window.run(CHOSEN) == ["IG"]
    window.type("#message", "For Instagram")
    assert message_at(writer, "/compose") == "Half a thought"
    assert window.run(CHOSEN) == ["FB"]
    assert message_at(writer, path) == "For Instagram"
    assert window.run(CHOSEN) == ["IG"]


def test_a_copy_that_was_refused_is_still_kept_under_its_own_name(writer: Any) -> None:
    window, copy = writer.window, f"/compose?copy={writer.post_id}"
    writer.open(copy)
    choose(writer, "TW")  # takes it out
    window.press("#send")
    assert "Choose at least one page." in window.text("[role=alert]")
    window.type("#message", " again")
    assert message_at(writer, "/compose") == "Half a thought"
    assert message_at(writer, copy) == "Rye bread again"
    choose(writer, "FB")
    window.click("input[name=when][value=now]")
    window.press("#send")
    assert window.text("h1") == "Published"
    assert message_at(writer, copy) == "Rye bread"  # sent: its draft is gone
    assert message_at(writer, "/compose") == "Half a thought"


def test_a_file_that_was_taken_out_of_a_draft_stays_out(person: Any, jpeg: bytes, picture: Path) -> None:
    window = person.window
    file = uploaded(person.account.api, jpeg, "rolls.jpg")
    path = f"/compose?media_id={file['media_id']}"
    person.open(path)
    assert window.run(NAMES) == ["rolls.jpg"]
    window.type("#files-input", str(picture))
    until(lambda: window.run(NAMES) == ["rolls.jpg", "bread.jpg"], 30, "both files are there")
    window.click("#files .remove")
    person.open(path)
    until(lambda: window.run(NAMES) == ["bread.jpg"], 20, "the other file is there")


def test_a_ticked_setting_of_a_draft_can_be_unticked_after_a_reload(person: Any) -> None:
    window, flag = person.window, "set.x_settings.is_premium"
    box = f"input[type=checkbox][name='{flag}']"
    sent = f"return new FormData(document.querySelector('#composer')).getAll('{flag}').at(-1)"
    person.open("/compose")
    choose(person, "TW")
    window.click(".settings[data-platform=TW] summary")
    window.click(box)
    assert window.run(sent) == "yes"
    person.open("/compose")
    assert window.run(sent) == "yes"
    window.run(f'document.querySelector("{box}").click()')
    assert window.run(sent) == "no"


def test_who_signs_in_after_somebody_has_signed_out_finds_no_draft(writer: Any, accounts: Accounts) -> None:
    window = writer.window
    window.emulate_phone(1280, 1000, "light")
    assert "or sign out" in window.text("#kept")
    window.press(".leave button")
    window.emulate_phone(0, 0, "")
    window.keep_cookie("posthaste_session", accounts.sign_in(accounts.new(pages=("FB",)))["session_token"])
    assert message_at(writer, "/compose") == ""
    assert window.run("return Object.keys(sessionStorage)") == ["posthaste-signed-out"]


def test_a_draft_is_there_after_the_session_has_ended_by_itself(writer: Any, accounts: Accounts) -> None:
    window = writer.window
    window.forget()
    writer.open("/posts")
    assert window.title == "Sign in · Posthaste"
    window.keep_cookie("posthaste_session", accounts.sign_in(writer.account)["session_token"])
    assert message_at(writer, "/compose") == "Half a thought"
