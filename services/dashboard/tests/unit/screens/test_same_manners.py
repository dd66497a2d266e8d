"""What screens do alike: password fields, headings, the zone of times, and the names of controls."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from e2e_kit.attacks.hostile_api import HostileApi
from flask.testing import FlaskClient

import dashboard

TEMPLATES = sorted((Path(dashboard.__file__).parent / "templates").glob("*.html"))
IN_TEMPLATES = pytest.mark.parametrize("template", TEMPLATES, ids=lambda it: it.name)
#: Screen with forms that a button opens → the number that chooses the states of what it shows.
FORMS = (("/brands", 0), ("/brands?after=x", 0), ("/developers", 0), ("/developers", 1), ("/brands/x", 0))
BELOW_OTHERS = (
    "/calendar/move/x", "/posts/x", "/comments/of/x", "/library/x", "/compose/ai", "/brands/x", "/account/email",
    "/account/codes", "/overview/account", "/developers/webhooks/x", "/developers/webhooks/x/deliveries/x",
    "/developers/requests/x", "/pages/linked?session_id=x",
)  # fmt: skip
BEGINNING = re.compile(r'<main[^>]*>\s*<p class="crumb">.*?</p>\s*(<div class="heading">)?\s*<h1', re.DOTALL)
MOVED_TO = {"date": "2099-12-02", "time": "14:30", "zone": "Europe/Berlin"}


class Api(HostileApi):
    """Stands in for the Python client. Its lists of brands are empty if `is_new`."""

    def __init__(self) -> None:
        super().__init__({})
        self.text = "Rye"
        self.is_new = False

    def _made(self, kind: Any, field: str, depth: int) -> Any:
        if self.is_new and field == "brands":
            return []
        if field == "timezone":
            return "Europe/Berlin"
        if field == "scheduled_at":
            return datetime(2099, 12, 1, 9, tzinfo=UTC)
        return super()._made(kind, field, depth)


@pytest.fixture
def served(serve: Callable[[HostileApi], None]) -> Api:
    served = Api()
    serve(served)
    return served


@IN_TEMPLATES
def test_every_password_can_be_shown(template: Path) -> None:
    text = template.read_text()
    passwords = re.findall(r'<input id="([^"]*)"[^>]*type="password"', text)
    shown = re.findall(r"\{\{ show_password\(([^)]*)\) \}\}", text)
    ids = " ".join(it.strip('"') or "password" for it in shown)
    assert len(passwords) == len(ids.split()) or 'name ~ "-password"' in shown[0]
    assert text.count('type="password"') == len(passwords)


@pytest.mark.parametrize("address", BELOW_OTHERS)
def test_a_screen_below_another_begins_with_the_way_back_and_its_heading(
    served: Api, browser: FlaskClient, address: str
) -> None:
    assert BEGINNING.search(browser.get(address).text)


def test_the_screen_of_a_secret_does_too(served: Api, browser: FlaskClient) -> None:
    served.turn = 1  # a token that may be shown again
    token = re.search(r'name="form_token" value="(\w+)"', browser.get("/developers").text)
    assert token
    secret = browser.post("/developers/sandbox-token", data={"form_token": token[1]})
    assert BEGINNING.search(secret.text)


@IN_TEMPLATES
def test_the_zone_of_times_is_told_in_the_same_words(template: Path) -> None:
    assert not re.search(r"[Tt]imes? (is|are) in ", template.read_text())


@pytest.mark.parametrize(("address", "turn"), FORMS)
@pytest.mark.parametrize("is_new", [True, False])
def test_no_two_controls_of_a_screen_have_the_same_name(
    served: Api, browser: FlaskClient, address: str, turn: int, is_new: bool
) -> None:
    served.turn, served.is_new = turn, is_new
    main = browser.get(address).text.partition("<main")[2]
    names = re.findall(r'<(?:summary|button) class="(?:button|primary)">([^<]+)<', main)
    assert len(names) == len(set(names)) > 0, names


def test_who_has_no_brand_gets_the_form_for_one_without_a_button_that_opens_it(
    served: Api, browser: FlaskClient
) -> None:
    assert "New brand</summary>" in browser.get("/brands").text
    served.is_new = True
    page = browser.get("/brands").text
    assert "New brand" not in page
    assert re.search(r'<div id="new" class="above">\s*<form method="post" action="/brands"', page)


def test_the_form_that_moves_a_post_repeats_the_chosen_time_in_words_and_with_its_zone(
    served: Api, browser: FlaskClient
) -> None:
    page = browser.get("/calendar/move/x").text
    assert "Goes out Tue, 1 Dec 2099, 10:00 Europe/Berlin (09:00 UTC for you)" in page
    token = re.search(r'name="form_token" value="(\w+)"', page)
    assert token
    form = {"form_token": token[1], "post_id": "x", "seen_at": "before", **MOVED_TO}
    refused = browser.post("/calendar/move", data=form)
    assert refused.status_code == 422
    assert "Moves to Wed, 2 Dec 2099, 14:30 Europe/Berlin (13:30 UTC for you)" in refused.text
    unreadable = browser.post("/calendar/move", data=form | {"time": "later"})
    assert re.search(r'id="moves-to"[^>]*>Time in Europe/Berlin<', unreadable.text)
