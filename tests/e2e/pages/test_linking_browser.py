"""Tests linking in a real browser: the platform's consent page, the person's answer, and our last page."""

from pathlib import Path

import pytest
import requests
from e2e_kit.chromium import Chromium
from e2e_kit.linking import NAMES, Linking, begin, linked
from e2e_kit.operator import Account, Accounts
from e2e_kit.simulator import Simulator

TITLES = {
    "FB": "Facebook",
    "IG": "Instagram",
    "LN": "LinkedIn",
    "TT": "TikTok",
    "TW": "X",
    "YT": "YouTube",
}


@pytest.fixture
def account(accounts: Accounts) -> Account:
    return accounts.new(pages=())


def ask(window: Chromium, linking: Linking) -> None:
    """Goes from our first page to the platform's login, as a person does who links pages."""
    window.open(linking.begun["authorize_url"])
    assert outcome(window) == "start"
    window.run(f"document.cookie = 'sim_person={linking.person['person_id']}; path=/'")
    window.press("a")
    assert linking.person["name"] in window.text("button[name=sim_allow]")


def agree(window: Chromium) -> None:
    """Presses the button for access on the platform's page, then the one on our page that gives the brand access."""
    window.press("button[name=sim_allow]")
    assert outcome(window) == "confirm"
    window.press("button[value=give]")


def outcome(window: Chromium) -> str:
    """Returns the outcome that the present page reports. Asserts that the page is ours and loads nothing from
    elsewhere.
    """
    assert "/connect/" in window.url
    assert window.run("return performance.getEntriesByType('resource').length") == 0
    assert window.title == window.text("h1")
    told: str = window.run("return document.querySelector('main').dataset.outcome")
    return told


@pytest.mark.parametrize("platform", NAMES)
def test_who_allows_is_sent_back_to_choose(
    window: Chromium, account: Account, simulator: Simulator, platform: str
) -> None:
    linking = begin(account, simulator, platform)
    ask(window, linking)
    agree(window)
    assert outcome(window) == "choose"
    assert window.title == f"{TITLES[platform]} allowed access"
    found = linking.session()["accounts"]
    assert all(one["name"] in window.text("p") for one in found)
    assert "Go back to your app and choose what to link" in window.text("p")
    [page] = linking.choose(found[-1]["account_id"])
    assert account.api.get("/pages")["pages"] == [page]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_that_asks_fits_a_phone_by_day_and_night(
    window: Chromium, account: Account, simulator: Simulator, tmp_path: Path, scheme: str
) -> None:
    linking = begin(account, simulator, "FB", accounts=4)
    window.emulate_phone(360, 640, scheme)
    try:
        ask(window, linking)
        window.press("button[name=sim_allow]")
        assert outcome(window) == "confirm"
        window.keep_picture(tmp_path / "confirm.png")
        assert window.run("return [innerWidth, document.documentElement.scrollWidth]") == [360, 360]
        buttons = window.run(
            "return [...document.querySelectorAll('button')].map(one => one.getBoundingClientRect())"
            ".map(box => [box.left, box.right, box.height])"
        )
        assert len(buttons) == 2
        assert all(left >= 0 and right <= 360 and height >= 44 for left, right, height in buttons)
        text = window.run("return getComputedStyle(document.querySelector('h1')).color")
        assert text == ("rgb(255, 255, 255)" if scheme == "dark" else "rgb(0, 0, 0)")
        window.press("button[value=cancel]")
        assert outcome(window) == "refused"
    finally:
        window.emulate_phone(0, 0, "")
    assert linking.session()["error"]["code"] == "CANCELLED"


@pytest.mark.parametrize("platform", NAMES)
def test_who_cancels_is_told_that_nothing_was_linked(
    window: Chromium, account: Account, simulator: Simulator, platform: str
) -> None:
    linking = begin(account, simulator, platform)
    ask(window, linking)
    window.press("button[name=sim_deny]")
    assert outcome(window) == "refused"
    assert window.text("main").startswith(f"{TITLES[platform]} was not linked\nYou did not give permission")
    assert linking.session()["status"] == "refused"
    assert account.api.get("/pages")["pages"] == []


def test_a_page_that_is_linked_again_works_again(
    window: Chromium, account: Account, simulator: Simulator
) -> None:
    page, before = linked(account, simulator, "TW")
    again = begin(account, simulator, "TW", person=before.person)
    ask(window, again)
    agree(window)
    assert outcome(window) == "linked"
    told = (
        f"{page['name']} works again for the brand “{page['brand_name']}”. You can close this window. "
        "If that brand is not yours, remove the app in the settings of your X account."
    )
    assert window.text("main") == f"X is linked\n{told}"


def test_what_the_platform_holds_against_it_is_told(
    window: Chromium, account: Account, simulator: Simulator
) -> None:
    linking = begin(account, simulator, "YT")
    simulator.fault("expired", linking.person["accounts"][0] | {"platform": "YT"}, operation="token")
    ask(window, linking)
    window.press("button[name=sim_allow]")
    assert outcome(window) == "failed"
    told = "Token has been expired or revoked. (invalid_grant) You can close this window and try again."
    assert window.text("main") == f"YouTube was not linked\n{told}"


def test_a_platforms_words_are_shown_and_do_nothing(
    window: Chromium, account: Account, simulator: Simulator
) -> None:
    linking = begin(account, simulator, "TW")
    window.open(linking.begun["authorize_url"])  # the browser that comes back
    href, person = window.run("return document.querySelector('a').href"), linking.person["person_id"]
    login = requests.get(href, {"sim_person": person}, allow_redirects=False, timeout=30)
    back = login.headers["Location"].replace("code=", "error=odd&other=")
    words = "<script>document.title = 'run'</script><img src=/healthz>"
    window.open(f"{back}&error_description={requests.utils.quote(words)}")
    assert outcome(window) == "failed"
    assert window.text("p").startswith(f"{words} (odd)")


def test_an_address_that_was_made_up_is_told_to_be_none_of_ours(window: Chromium, account: Account) -> None:
    root = account.api.base_url.removesuffix("/api/v1")
    window.open(f"{root}/connect/youtube/callback?state=made-up&code=x")
    assert outcome(window) == "failed"
    assert window.text("p") == (
        "This link is invalid, already used or older than ten minutes. Start again in your app."
    )
