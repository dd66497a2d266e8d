"""A post as the composer's form holds it, and the API calls that are made from it."""

from typing import Any

import pytest
from werkzeug.datastructures import MultiDict

from dashboard.drafts import MOST_PAGES, Draft


def draft(**more: Any) -> Draft:
    fields = {"page_id": ["pag_1", "pag_2"], "message": "Hello", "key": "k", "when": "now"} | more
    return Draft.from_form(MultiDict(fields))


def test_only_a_page_with_a_text_of_its_own_overrides_the_shared_one() -> None:
    one = draft(
        page_id=["pag_1", "pag_2", "pag_3"], text_of_pag_2="Hi", text_of_pag_1="  ", text_of_pag_4="No"
    )
    assert one.overrides() == [{"page_id": "pag_2", "message": "Hi"}]
    assert [one.text_for(page) for page in ("pag_1", "pag_2")] == ["Hello", "Hi"]


def test_a_form_that_is_sent_twice_has_the_same_key() -> None:
    assert draft().key == draft().key == "k"
    assert Draft.empty("UTC").key != Draft.empty("UTC").key


def test_a_page_chosen_twice_gets_one_post() -> None:
    assert draft(page_id=["pag_1", "pag_1"]).page_ids == ("pag_1",)


def test_line_ends_are_those_of_the_api() -> None:
    assert draft(message="a\r\nb\r\n").message == "a\nb"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"page_id": []}, "Choose at least one page."),
        ({"page_id": [f"pag_{n}" for n in range(MOST_PAGES + 1)]}, "Choose at most 20 pages."),
        ({"when": "later", "date": "", "time": "", "zone": "UTC"}, "Choose a date and a time."),
        ({"when": "now", "date": "", "time": ""}, ""),
    ],
)
def test_what_is_missing_is_said_before_the_api_is_asked(fields: dict[str, Any], problem: str) -> None:
    assert draft(**fields).problem() == problem


def test_a_draft_begins_on_the_day_that_was_chosen_in_the_calendar() -> None:
    draft = Draft.empty("UTC")
    there = draft.on("2026-12-08")
    assert (there.is_later, there.date, there.time) == (True, "2026-12-08", draft.time)
    assert draft.on("no day") == draft.on("") == draft
