"""Tests the composer: counters and settings by each platform's rules, previews, and AI."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from e2e_kit.accessibility import flaws
from e2e_kit.files import uploaded
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import until


def unfold(person: Any, summary: str) -> None:
    """Opens the part of the form with this heading."""
    person.window.run(
        f"[...document.querySelectorAll('summary')].find(it => it.innerText.includes('{summary}')).click()"
    )


@pytest.fixture
def writer(person: Any) -> Iterator[Any]:
    person.open("/compose")
    yield person
    person.window.emulate_phone(0, 0, "")


def choose(person: Any, *platforms: str) -> None:
    for platform in platforms:
        person.window.click(f"input[name=page_id][value={person.account.page_id(platform)}]")


def shows(person: Any, css: str, text: str) -> None:
    asked = f"return document.querySelector('{css}')?.innerText ?? ''"
    until(lambda: text in person.window.run(asked), 60, f"{css} shows {text!r}")


def test_each_platform_counts_by_the_rule_of_the_apis_description(writer: Any) -> None:
    window = writer.window
    limits = writer.account.api.get("/openapi.json")["x-platforms"]
    choose(writer, "FB", "TW")
    window.paste("#message", "word " * 68)
    window.type("#message", "word word ")
    counters = window.text("[data-counts=message]")
    assert f"349 of {limits['FB']['message_limit']:,}" in counters
    assert f"349 of {limits['TW']['message_limit']}, 69 too many" in counters
    assert "Instagram" not in counters
    window.click("main summary")
    own = writer.account.page_id("TW")
    window.type(f"#own-{own}", "few words")
    assert "X" not in window.text("[data-counts=message]")
    assert f"9 of {limits['TW']['message_limit']}" in window.text(f"[data-counts=own-{own}]")


def test_settings_of_the_chosen_platforms_are_sent_and_come_back_in_a_copy(
    writer: Any, picture: Path
) -> None:
    window = writer.window
    assert window.run("return document.querySelectorAll('.settings:not([hidden])').length") == 0
    choose(writer, "TW", "IG")
    window.type("#message", "Rye, with caraway")
    window.type("#files-input", str(picture))
    shows(writer, "#files", "bread.jpg")
    window.click(".settings[data-platform=TW] summary")
    window.run("document.querySelector('#set-x_settings-reply_settings').value = 'following'")
    window.click(".settings[data-platform=IG] summary")
    window.type("#set-instagram_settings-alt_text", "A loaf on a board")
    window.click("input[name=when][value=later]")
    window.press("#send")
    assert window.text("h1") == "Scheduled"
    posts = {it["platform"]: it for it in writer.account.api.get("/posts/scheduled")["scheduled_posts"]}
    assert posts["TW"]["x_settings"]["reply_settings"] == "following"
    assert posts["IG"]["instagram_settings"]["alt_text"] == "A loaf on a board"
    assert posts["IG"].get("x_settings") is None
    writer.open(f"/compose?copy={posts['IG']['id']}")
    asked = "return document.querySelector('#set-instagram_settings-alt_text').value"
    assert window.run(asked) == "A loaf on a board"


def test_a_setting_that_the_platform_does_not_take_is_told_while_one_writes(writer: Any) -> None:
    window = writer.window
    choose(writer, "FB")
    window.type("#message", "With a link")
    shows(writer, "#findings", "Ready")
    window.click(".settings[data-platform=FB] summary")
    window.type("#set-facebook_settings-link", "no address")
    until(lambda: window.has("#findings .finding.bad"), 20, "the refusal is told")
    shows(writer, "#findings", "Fix: Link")
    assert window.has("#beside-set-facebook_settings-link .finding.bad")
    described = (
        "return document.querySelector('#set-facebook_settings-link').getAttribute('aria-describedby')"
    )
    assert "beside-set-facebook_settings-link" in window.run(described)
    assert window.text("#beside-settings") == ""
    assert flaws(window) == []


def test_a_finding_about_a_pages_own_text_or_a_closed_setting_is_seen_where_it_is_mended(writer: Any) -> None:
    window, own = writer.window, writer.account.page_id("TW")
    choose(writer, "FB", "TW")
    window.type("#message", "Short")
    window.run(
        f"const area = document.querySelector('#own-{own}'); area.value = 'word '.repeat(70);"
        "document.querySelector('#set-facebook_settings-link').value = 'no address';"
        "area.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    shows(writer, f"#beside-own-{own}", "X takes")
    until(lambda: window.has("#beside-set-facebook_settings-link .bad"), 20, "the setting's finding is there")
    assert window.text("#beside-message") == ""
    assert window.run("return document.querySelector('.settings[data-platform=FB]').open")
    window.click(".settings[data-platform=FB] summary")
    window.type(f"#own-{own}", " more")
    until(lambda: window.has("#beside-set-facebook_settings-link .bad"), 20, "it is checked again")
    assert not window.run("return document.querySelector('.settings[data-platform=FB]').open")


def test_a_finding_is_told_beside_the_field_that_it_is_about(writer: Any, picture: Path) -> None:
    window = writer.window
    choose(writer, "IG", "TW")
    window.paste("#message", "word " * 68)
    window.type("#message", "word word ")
    shows(writer, "#beside-message", "X")
    shows(writer, "#beside-media", "Instagram does not take posts without")
    described = window.run("return document.querySelector('#message').getAttribute('aria-describedby')")
    assert described == "beside-message"
    assert flaws(window) == []
    window.run("const area = document.querySelector('#message'); area.value = 'few words';"
               "area.dispatchEvent(new Event('input', {bubbles: true}))")  # fmt: skip
    window.type("#files-input", str(picture))
    until(lambda: not window.has(".beside .finding"), 30, "nothing is wrong any more")
    assert window.run("return document.querySelectorAll('#findings .finding.good').length") == 2


def test_the_composer_offers_every_file_of_the_library_page_by_page(writer: Any, jpeg: bytes) -> None:
    window, account = writer.window, writer.account
    names = [f"{number:02}.jpg" for number in range(26)]
    for name in names:
        uploaded(account.api, jpeg, name)
    window.run(
        "[...document.querySelectorAll('summary')].find(it => it.innerText.includes('From the library')).click()"
    )
    shows(writer, "#library", "25.jpg")
    assert "00.jpg" not in window.text("#library")
    assert window.click_and_hold("#library .after a")
    window.go_on()
    shows(writer, "#library", "00.jpg")
    told = "return [...document.querySelectorAll('#library .name')].map(it => it.textContent)"
    assert window.run(told) == names[::-1]
    assert not window.has("#library .after")


def test_each_page_has_a_preview_with_its_own_text_and_the_pictures(writer: Any, picture: Path) -> None:
    window = writer.window
    choose(writer, "FB", "IG")
    window.type("#message", "For everybody")
    window.click("main summary")
    window.type(f"#own-{writer.account.page_id('IG')}", "For Instagram alone")
    window.type("#files-input", str(picture))
    shows(writer, "#previews .FB", "For everybody")
    shows(writer, "#previews .IG", "For Instagram alone")
    until(lambda: window.has("#previews .IG .pictures img"), 20, "the picture is there")


def test_the_button_and_the_form_say_when_the_post_goes_out(writer: Any) -> None:
    window = writer.window
    choose(writer, "FB")
    window.click("input[name=when][value=later]")
    window.run(
        "document.querySelector('#date').value = '2099-12-04'; document.querySelector('#time').value = '11:00';"
        "document.querySelector('#time').dispatchEvent(new Event('input', {bubbles: true}))"
    )
    # Releases of Chromium differ in the comma after the weekday.
    assert window.text("#send").replace("Fri,", "Fri") == "Schedule for Fri 4 Dec, 11:00"
    shows(writer, "#goes-out", "Goes out Fri, 4 Dec 2099, 11:00 Europe/Berlin (10:00 UTC for you)")


def test_a_draft_survives_a_reload_and_can_be_discarded(writer: Any) -> None:
    window = writer.window
    assert window.run("return document.querySelector('#kept').hidden")
    window.type("#message", "Half a thought")
    assert "Draft kept in this tab" in window.text("#kept")
    writer.open("/compose")
    assert window.run("return document.querySelector('#message').value") == "Half a thought"
    window.press("#discard")
    until(lambda: window.run("return document.querySelector('#message')?.value") == "", 20, "it is empty")
    assert window.run("return document.querySelector('#kept').hidden")
    assert "Draft discarded" in window.text("#discarded")
    assert flaws(window) == []
    window.press("#undiscard")
    assert window.run("return document.querySelector('#message').value") == "Half a thought"
    window.press("#discard")
    window.type("#message", "Another one")
    assert window.run("return document.querySelector('#discarded').hidden")


def test_a_draft_that_comes_back_is_checked_and_previewed_at_once(writer: Any) -> None:
    window = writer.window
    choose(writer, "FB")
    window.type("#message", "Half a thought")
    window.click("input[name=when][value=later]")
    shows(writer, "#findings", "Ready")
    writer.open("/compose")
    assert "Choose pages and write" not in window.text("#findings")
    shows(writer, "#findings", "Ready")
    shows(writer, "#previews .FB", "Half a thought")
    shows(writer, "#goes-out", "Goes out ")


def test_pages_that_cannot_take_the_post_are_left_out_on_demand(writer: Any) -> None:
    window = writer.window
    choose(writer, "FB", "IG")
    window.type("#message", "Without a photo")
    shows(writer, "#ready", "Publish on Facebook only")
    assert window.run("return document.querySelector('#send').disabled")
    assert "Fix this, or press the other button" in window.text("#findings")
    assert flaws(window) == []
    window.press("#ready button")
    assert window.text("h1") == "Published on Facebook. Not published on Instagram."
    assert "Instagram does not take posts without" in window.text("#sent")
    window.press("main form button")
    assert window.run(
        "return document.querySelector('[name=page_id]:checked').value"
    ) == writer.account.page_id("IG")


def test_the_button_that_sends_is_in_sight_in_a_low_window_and_one_part_scrolls(writer: Any) -> None:
    window = writer.window
    window.emulate_phone(1280, 700, "light")
    choose(writer, "FB", "IG", "TW")
    window.click("input[name=when][value=later]")
    window.paste("#message", "Rye " * 90)
    until(lambda: window.has("#previews .TW"), 30, "the preview is there")
    bottom = window.run("return document.querySelector('#send').getBoundingClientRect().bottom")
    assert bottom <= 700
    assert not window.has(".side #previews")


def test_a_preview_folds_a_long_text_where_its_platform_does(writer: Any) -> None:
    window = writer.window
    choose(writer, "FB", "IG")
    window.paste("#message", "Rye bread with caraway. " * 10)
    window.type("#message", "The end")
    shows(writer, "#previews .FB", "The end")
    assert "The end" not in window.text("#previews .IG .text")
    assert "No photo or video yet" in window.text("#previews .IG")
    window.click("#previews .IG summary")
    assert "The end" in window.text("#previews .IG .text")


def test_ai_writes_a_text_and_makes_an_image_for_the_post(writer: Any) -> None:
    window, api = writer.window, writer.account.api
    before = api.get("/account/credits")["credits"]["available"]
    choose(writer, "FB")
    window.run("[...document.querySelectorAll('summary')].find(it => it.innerText.includes('AI')).click()")
    shows(writer, ".ai", f"{before:,} AI credits are left")
    window.type("#ai_instruction", "We bake at night")
    window.click("button[hx-post$=caption]")
    until(lambda: window.has("[data-use=text]"), 60, "the text is there")
    assert flaws(window) == []
    left = api.get("/account/credits")["credits"]["available"]
    assert left < before
    shows(writer, "#credits-left", f"{left:,} AI credits are left")
    text = window.text(".result .text")
    window.click("[data-use=text]")
    assert window.run("return document.querySelector('#message').value") == text
    unfold(writer, "Image")
    window.type("#ai_prompt", "A market stall at dawn")
    window.click("button[hx-post$=image]")
    until(lambda: window.has("[data-use=file]"), 60, "the image is there")
    assert not window.has("#files li")
    window.click("[data-use=file]")
    assert window.has("#files li [name=media_id]")
    shows(writer, "#findings", "Ready")
    after = api.get("/account/credits")["credits"]["available"]
    assert before - after == 11
    shows(writer, "#credits-left", f"{after:,} AI credits are left")
    window.press("#send")
    assert window.text("h1") == "Published"


def test_a_film_is_made_while_the_page_is_left_and_taken_into_the_post(
    writer: Any, simulator: Simulator
) -> None:
    window = writer.window

    def opens() -> None:
        window.run(
            "[...document.querySelectorAll('summary')].find(it => it.innerText.includes('AI')).click()"
        )
        until(lambda: window.has("#ai_film"), 20, "the form is there")

    opens()
    unfold(writer, "Video")
    window.click("button[hx-post$=film]")
    shows(writer, ".ai", "Say what the video shows.")
    window.type("#ai_film", "A market stall at dawn")
    window.click("button[hx-post$=film]")
    shows(writer, ".ai", "is being created")
    is_shown = "return document.querySelector('#ai_film').checkVisibility()"
    assert not window.run(is_shown)  # meanwhile nothing could send what is written there
    assert flaws(window) == []
    until(lambda: window.has("[data-use=file]"), 120, "the film is there")
    assert window.run(is_shown)
    assert flaws(window) == []
    window.click("[data-use=file]")
    assert window.has("#files li [name=media_id]")
    window.click("button[hx-post$=film]")
    writer.open("/compose")
    opens()
    api = writer.account.api
    until(lambda: len(api.get("/media")["media"]) == 2, 120, "the other one is in the library")


def test_the_forms_of_ai_are_tabs_of_which_one_is_open(writer: Any) -> None:
    window = writer.window
    unfold(writer, "AI")
    until(lambda: window.has("#ai_prompt"), 20, "the forms are there")
    tops = "return [...document.querySelectorAll('.kinds summary')].map(it => it.getBoundingClientRect().top)"
    assert len(set(window.run(tops))) == 1
    areas = "[...document.querySelectorAll('.kinds textarea')]"
    seen = f"return {areas}.filter(it => it.checkVisibility()).map(it => it.id)"
    for tab, field in (("Image", "ai_prompt"), ("Video", "ai_film"), ("Caption", "ai_instruction")):
        unfold(writer, tab)
        assert window.run(seen) == [field]
        assert flaws(window) == []


def test_ai_has_a_page_of_its_own_which_needs_no_script(writer: Any) -> None:
    window = writer.window
    writer.open("/library")
    window.press("main a[href='/compose/ai']")
    window.press("button[formaction$=caption]")
    assert "Say what the text is about." in window.text("[role=alert]")
    window.press("main .after a")
    window.type("#ai_instruction", "We bake at night")
    window.press("button[formaction$=caption]")
    text = window.text(".result .text")
    assert flaws(window) == []
    window.press(".result button")
    assert window.run("return document.querySelector('#message').value") == text
    writer.open("/compose/ai")
    unfold(writer, "Video")
    window.type("#ai_film", "A market stall at dawn")
    window.press("button[formaction$=film]")
    writer.open("/compose/ai")  # the page may be left: it shows the film again, among the forms
    until(lambda: window.has(".result button"), 120, "the film is there")
    window.press(".result button")
    assert window.has("#files li [name=media_id]")


def test_what_ai_cannot_do_is_said_and_what_was_asked_stays(writer: Any, simulator: Simulator) -> None:
    window = writer.window
    window.run("[...document.querySelectorAll('summary')].find(it => it.innerText.includes('AI')).click()")
    until(lambda: window.has("#ai_prompt"), 20, "the form is there")
    unfold(writer, "Image")
    window.click("button[hx-post$=image]")
    shows(writer, ".ai", "Say what the image shows.")
    # Pasted: five thousand keys pressed one by one take a minute on a busy machine.
    window.run("document.querySelector('#ai_prompt').value = 'x'.repeat(5000)")
    window.click("button[hx-post$=image]")
    until(lambda: "Say what" not in window.text(".ai [role=alert]"), 30, "the API's refusal is told")
    assert len(window.run("return document.querySelector('#ai_prompt').value")) == 5000
    assert flaws(window) == []


def test_a_file_that_is_refused_is_told_in_the_composer_too(writer: Any, tmp_path: Path) -> None:
    window, letter = writer.window, tmp_path / "letter.jpg"
    letter.write_text("Dear Sir or Madam")
    window.type("#files-input", str(letter))
    until(lambda: window.has("#waiting [role=alert]"), 20, "the refusal is told")
    assert flaws(window) == []


def test_the_composer_looks_right(writer: Any, picture: Path) -> None:
    window = writer.window
    choose(writer, "FB", "IG", "TW")
    window.paste("#message", "Rye " * 90)
    window.type("#files-input", str(picture))
    until(lambda: window.has("#previews .IG .pictures img"), 30, "the preview is there")
    window.run("for (const it of document.querySelectorAll('details')) it.open = true")
    until(lambda: window.has("#ai_prompt"), 20, "the AI form is there")
    assert flaws(window) == []
