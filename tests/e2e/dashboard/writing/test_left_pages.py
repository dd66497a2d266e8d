"""Tests what happens when the person leaves a page while something takes long: the browser asks before it drops an
upload, and captions and images are there on return.
"""

from pathlib import Path
from typing import Any

import pytest
from e2e_kit.waiting import until

#: Holds back what the next upload sends, until `goOn`.
HOLD_UPLOAD = """
const send = XMLHttpRequest.prototype.send;
XMLHttpRequest.prototype.send = function (body) {
  window.goOn = () => {
    XMLHttpRequest.prototype.send = send;
    send.call(this, body);
  };
};
"""
#: Whether a browser would ask before it leaves the page. WebDriver itself leaves without asking.
ASKS = (
    "const it = new Event('beforeunload', {cancelable: true}); dispatchEvent(it); return it.defaultPrevented"
)
IS_OPEN = "return document.querySelector('#with-ai').closest('details').open"


@pytest.mark.parametrize("path", ["/library", "/compose"])
def test_a_page_that_uploads_is_not_left_without_a_question(person: Any, picture: Path, path: str) -> None:
    window = person.window
    person.open(path)
    assert not window.run(ASKS)
    window.run(HOLD_UPLOAD)
    window.type("#files-input", str(picture))
    until(lambda: window.run("return 'goOn' in window"), 20, "the upload begins")
    assert window.run(ASKS)
    window.run("window.goOn()")
    until(lambda: window.has("#library .tile, #files li"), 60, "the file is there")
    until(lambda: not window.run(ASKS), 20, "the page may be left")


def test_two_uploads_at_once_hold_the_post_back_until_both_are_there(person: Any, picture: Path) -> None:
    window, other = person.window, picture.with_name("rolls.jpg")
    other.write_bytes(picture.read_bytes())
    person.open("/compose")
    window.run(HOLD_UPLOAD)
    window.type("#files-input", str(picture))
    until(lambda: window.run("return 'goOn' in window"), 20, "the first upload begins")
    window.run("window.first = window.goOn; delete window.goOn")
    window.type("#files-input", str(other))
    until(lambda: window.run("return 'goOn' in window"), 20, "the second upload begins")
    window.run("window.first()")
    until(lambda: window.has("#files li"), 60, "the first file is there")
    assert window.run("return document.querySelector('#send').disabled")
    assert window.run(ASKS)
    window.run("window.goOn()")
    until(lambda: not window.run("return document.querySelector('#send').disabled"), 60, "both are there")
    assert window.run("return document.querySelectorAll('#files li').length") == 2


def ask_for_a_caption(person: Any) -> None:
    window = person.window
    person.open("/compose")
    window.run("document.querySelector('#with-ai').closest('details').open = true")
    until(lambda: window.has("#ai_instruction"), 20, "the forms of AI are there")
    window.type("#ai_instruction", "We bake at night")
    window.click("button[hx-post$=caption]")


def credits_of(person: Any) -> int:
    left: int = person.account.api.get("/account/credits")["credits"]["available"]
    return left


def test_a_caption_is_there_after_the_page_was_left_until_it_is_used_and_is_paid_once(person: Any) -> None:
    window, before = person.window, credits_of(person)
    ask_for_a_caption(person)
    until(lambda: window.has("[data-use=text]"), 60, "the caption is there")
    text = window.text(".result .text")
    person.open("/posts")
    person.open("/compose")
    until(lambda: window.has("[data-use=text]"), 60, "the caption is there again")
    assert window.text(".result .text") == text
    assert window.run("return document.querySelector('#ai_instruction').value") == "We bake at night"
    assert before - credits_of(person) == 1
    window.click("[data-use=text]")
    assert window.run("return document.querySelector('#message').value") == text
    person.open("/compose")
    assert window.run("return document.querySelector('#message').value") == text
    assert not window.run(IS_OPEN)
    assert before - credits_of(person) == 1


def test_a_caption_that_had_not_come_when_the_page_was_left_comes_on_return(person: Any) -> None:
    window, before = person.window, credits_of(person)
    ask_for_a_caption(person)
    person.open("/posts")

    def has_come() -> bool:
        person.open("/compose")
        until(lambda: window.has(".ai .made > *"), 60, "an answer is there")
        return bool(window.has("[data-use=text]"))  # else the first call has not ended yet

    until(has_come, 60, "the caption is there", pause_seconds=0.5)
    assert before - credits_of(person) == 1


def test_a_caption_that_was_refused_is_not_asked_for_again(person: Any) -> None:
    window = person.window
    person.open("/compose")
    window.run("document.querySelector('#with-ai').closest('details').open = true")
    until(lambda: window.has("#ai_instruction"), 20, "the forms of AI are there")
    window.click("button[hx-post$=caption]")
    until(lambda: window.has(".ai [role=alert]"), 20, "the refusal is there")
    person.open("/compose")
    assert not window.run(IS_OPEN)
