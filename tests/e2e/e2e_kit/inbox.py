"""What tests of the dashboard's inbox share: what it shows, the form below a comment, and waiting for new comments."""

from typing import Any

from e2e_kit.waiting import until

SHOWN = "return document.querySelector('#inbox').innerText"


def shows(person: Any, *texts: str) -> None:
    def are_there() -> bool:
        shown = person.window.run(SHOWN)
        return all(text in shown for text in texts)

    until(are_there, 20, f"the inbox shows {texts}")


def form_of(person: Any, text: str) -> str:
    """Returns the selector of the form below a comment."""
    name: str = person.window.run(
        "return [...document.querySelectorAll('.conversations > li')]"
        f".find(it => it.innerText.includes('{text}')).querySelector('textarea').id"
    )
    return f"form:has(#{name})"


def looks_until(person: Any, text: str) -> None:
    """Brings the window to the front again and again until the inbox shows this text: each time the inbox looks for
    new comments.
    """

    def is_there() -> bool:
        person.window.run("document.dispatchEvent(new Event('visibilitychange'))")
        return text in person.window.run(SHOWN)

    until(is_there, 60, f"{text} appears", pause_seconds=0.5)
