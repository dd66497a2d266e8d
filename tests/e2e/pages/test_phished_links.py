"""Somebody sends a person a link that begins a login, to get the person's pages. None of the attacks gives the sender a
page, or tells the sender which pages the person has.

The person opens the link and logs in at the platform, but does not press the button of our own page that gives the
pages to the sender.
"""

from collections.abc import Callable
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
import requests
from e2e_kit.api import refused
from e2e_kit.linking import NAMES, Linking, Page, begin
from e2e_kit.operator import Account, Accounts, Clock
from e2e_kit.simulator import Simulator

TIMEOUT_SECONDS = 60.0
FORM = "application/x-www-form-urlencoded"
#: A well-formed secret and form token that nobody was given.
SECRET, TOKEN = "x" * 43, "0" * 64


def cookie_name(linking: Linking) -> str:
    return f"connect-{linking.begun['session_id']}"


def changed(url: str, **query: str) -> str:
    """Returns the URL with these query parameters; an empty value removes one."""
    parts = urlsplit(url)
    values = dict(parse_qsl(parts.query)) | query
    return parts._replace(query=urlencode({name: value for name, value in values.items() if value})).geturl()


def query_of(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query))


def open_in(browser: requests.Session, url: str) -> Page:
    return Page(browser.get(url, timeout=TIMEOUT_SECONDS))


def with_cookie(linking: Linking, value: str) -> None:
    """Opens the platform's redirect URL in a browser whose cookie for this link session has this value."""
    headers = {"Cookie": f"{cookie_name(linking)}={value}"}
    requests.get(linking.way_back(), headers=headers, timeout=TIMEOUT_SECONDS)


def post(browser: requests.Session, linking: Linking, **form: str) -> None:
    """Sends the form of our consent page from a browser, with these fields."""
    browser.post(linking.begun["authorize_url"], data=form, timeout=TIMEOUT_SECONDS)


def post_body(linking: Linking, body: str, content_type: str) -> None:
    linking.come_back()
    headers = {"Content-Type": content_type}
    linking.browser.post(
        linking.begun["authorize_url"], body, headers=headers, timeout=TIMEOUT_SECONDS
    )  # without a form token


def post_from_other(linking: Linking, other: requests.Session, *, with_token: bool) -> None:
    """The other browser has opened the link before the person did, and presses the button after the person's login."""
    open_in(other, linking.begun["authorize_url"])
    token = linking.come_back().fields["form_token"]
    post(other, linking, decision="give", form_token=token if with_token else TOKEN)


def steal_login(linking: Linking, other: requests.Session) -> None:
    """The sender opens the link in a browser of their own, and sends the person the address of the platform's login."""
    [url] = open_in(other, linking.begun["authorize_url"]).links
    open_in(linking.browser, changed(url, sim_person=linking.person["person_id"]))


def steal_login_begun_by_both(linking: Linking, other: requests.Session) -> None:
    open_in(linking.browser, linking.begun["authorize_url"])
    steal_login(linking, other)


def press_for_other_session(linking: Linking, other: requests.Session) -> None:
    """Presses the button with the form token of another link session in the same browser."""
    second = another(linking)
    token = second.come_back().fields["form_token"]
    linking.come_back()
    post(linking.browser, linking, decision="give", form_token=token)


def another(linking: Linking) -> Linking:
    """Begins another link session of the same sender in the person's browser."""
    body = {"platform": NAMES[linking.platform], "brand_id": linking.brand_id}
    begun = linking.api.post("/pages/connect", body)
    return Linking(
        linking.api, linking.simulator, linking.brand_id, linking.platform, linking.person, begun, linking.browser
    )  # fmt: skip


def mix_sessions(linking: Linking, _other: requests.Session, part: str) -> None:
    """Opens the platform's redirect URL with one query parameter from another link session in the same browser."""
    foreign = query_of(another(linking).way_back())[part]
    linking.load(changed(linking.way_back(), **{part: foreign}))


def cookie_of_other_session(linking: Linking, other: requests.Session) -> None:
    """Sends the secret in the cookie of another link session under the cookie name of this one."""
    second = another(linking)
    open_in(other, second.begun["authorize_url"])
    with_cookie(linking, other.cookies[cookie_name(second)])


def bound_to_other(linking: Linking, other: requests.Session) -> None:
    """Opens the redirect URL with a state that names the sender's browser but has the signature for the person's."""
    [url] = open_in(other, linking.begun["authorize_url"]).links
    session_id, browser, _ = query_of(url)["state"].split(".")
    back = linking.way_back()
    signature = query_of(back)["state"].split(".")[2]
    linking.load(changed(back, state=f"{session_id}.{browser}.{signature}"))


def answer_twice(linking: Linking, second_code: str) -> None:
    """Opens the platform's redirect URL, then the same URL with `second_code`; with an empty one, exactly the same
    URL.
    """
    back = linking.way_back()
    linking.load(back)
    linking.load(changed(back, code=second_code) if second_code else back)


def log_in_twice(linking: Linking, _other: requests.Session) -> None:
    for back in (linking.way_back(), linking.way_back()):
        linking.load(back)


def cancel_then(linking: Linking, act: Callable[[str, Page], object]) -> None:
    """The person cancels on our page. Then calls `act` with the platform's redirect URL and the page that has the
    button.
    """
    back = linking.way_back()
    shown = linking.load(back)
    assert linking.press(shown, "cancel").outcome == "refused"
    act(back, shown)


def refuse_then_answer(linking: Linking, _other: requests.Session) -> None:
    """The person refuses at the platform; then the redirect URL of an earlier login is opened."""
    back = linking.way_back()
    linking.load(changed(back, code="", error="access_denied"))
    linking.load(back)


def ask_by_method(linking: Linking, method: str) -> None:
    shown = linking.come_back()
    query = shown.fields | {"decision": "give"}
    linking.browser.request(method, shown.url, params=query, data=query, timeout=TIMEOUT_SECONDS)


def look(linking: Linking, method: str) -> None:
    """A link preview or a mail scanner opens our first page and the redirect URL before the person does."""
    back = linking.way_back()
    for url in (linking.begun["authorize_url"], back):
        requests.request(method, url, timeout=TIMEOUT_SECONDS)


Attack = Callable[[Linking, requests.Session], object]
ATTACKS: dict[str, Attack] = {
    # The person follows the link and stops at our page.
    "logs in and presses nothing": lambda it, _: it.come_back(),
    "logs in twice and presses nothing": log_in_twice,
    # Without the cookie, or with another one.
    "no cookie": lambda it, _: requests.get(it.way_back(), timeout=TIMEOUT_SECONDS),
    "empty cookie": lambda it, _: with_cookie(it, ""),
    "made-up cookie": lambda it, _: with_cookie(it, SECRET),
    "malformed cookie": lambda it, _: with_cookie(it, "x" * 42 + "="),
    "cookie in several parts": lambda it, _: with_cookie(it, f"{SECRET}; {cookie_name(it)}={SECRET}"),
    "cookie of another session": cookie_of_other_session,
    "form without a cookie": lambda it, other: post(other, it, **it.come_back().fields, decision="give"),
    # Another browser.
    "the sender's login address": steal_login,
    "the sender's login address after both began": steal_login_begun_by_both,
    "another browser opens the answer": lambda it, other: open_in(other, it.way_back()),
    "another browser that began too": lambda it, other: (
        open_in(other, it.begun["authorize_url"]), open_in(other, it.way_back()),
    ),
    "another browser opens the last page": lambda it, other: open_in(other, it.come_back().url),
    "another browser presses": lambda it, other: post_from_other(it, other, with_token=False),
    "another browser presses with the person's token": lambda it, other: post_from_other(
        it, other, with_token=True
    ),
    # Replays.
    "answer again after cancelling": lambda it, _: cancel_then(it, lambda back, _page: it.load(back)),
    "button again after cancelling": lambda it, _: cancel_then(
        it, lambda _back, page: post(it.browser, it, **page.fields, decision="give")
    ),
    "answer after a refusal": refuse_then_answer,
    "answer twice": lambda it, _: answer_twice(it, ""),
    "answer with another code": lambda it, _: answer_twice(it, "another"),
    # Fixation.
    "state for another browser": bound_to_other,
    "browser in the query": lambda it, other: open_in(other, changed(it.way_back(), browser="b" * 64)),
    "session in the query": lambda it, other: open_in(other, changed(it.way_back(), session_id="lnk_1")),
    "unsigned state": lambda it, _: it.load(
        changed(it.way_back(), state=f"{it.begun['session_id']}.{'b' * 64}.{'A' * 43}")
    ),
    "state without a browser": lambda it, _: it.load(
        changed(it.way_back(), state=f"{it.begun['session_id']}.{'A' * 43}")
    ),
    "no state": lambda it, _: it.load(changed(it.way_back(), state="")),
    "state of another session": lambda it, other: mix_sessions(it, other, "state"),
    "code of another session": lambda it, other: mix_sessions(it, other, "code"),
    # The answer of one platform at another one's address.
    **{
        f"answer at {name}": lambda it, _, name=name: it.load(it.way_back().replace("/twitter/", f"/{name}/"))
        for name in (*sorted({*NAMES.values()} - {"twitter"}), "Twitter", "TW", "stripe")
    },
    # Presses that are none.
    **{f"press by {method}": lambda it, _, method=method: ask_by_method(it, method)
       for method in ("GET", "HEAD", "PUT", "PATCH", "DELETE")},
    **{f"{method} by a scanner": lambda it, _, method=method: look(it, method) for method in ("GET", "HEAD", "POST")},
    "press without a token": lambda it, _: (it.come_back(), post(it.browser, it, decision="give")),
    "press with a made-up token": lambda it, _: (
        it.come_back(), post(it.browser, it, decision="give", form_token=TOKEN),
    ),
    "press with another session's token": press_for_other_session,
    **{
        f"decision {decision!r}": lambda it, _, decision=decision: post(
            it.browser, it, **it.come_back().fields, decision=decision
        )
        for decision in ("", "GIVE", "give cancel", "link")
    },
    "press in JSON": lambda it, _: post_body(it, '{"decision": "give"}', "application/json"),
    "press in plain text": lambda it, _: post_body(it, "decision=give", "text/plain"),
    "press from another site's form": lambda it, _: post_body(it, "decision=give", FORM),
    "press before the login": lambda it, _: (
        it.login_url(), post(it.browser, it, decision="give", form_token=TOKEN),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def sender(accounts: Accounts) -> Account:
    """The account that sends the links. No attack may give it a page."""
    return accounts.new(pages=())


def choose(linking: Linking) -> requests.Response:
    """The sender requests the account that the person has at the platform."""
    account_ids = [one["account_id"] for one in linking.person["accounts"]]
    return linking.api.call("POST", linking.path, json={"account_ids": account_ids})


def test_there_are_forty_of_them() -> None:
    assert len(ATTACKS) >= 40


@pytest.mark.parametrize("name", ATTACKS)
def test_the_sender_gets_no_page_and_learns_of_none(sender: Account, simulator: Simulator, name: str) -> None:
    linking = begin(sender, simulator, "TW")
    with linking.browser, requests.Session() as other:
        ATTACKS[name](linking, other)
    session = linking.session()
    assert session["status"] in ("pending", "refused", "failed")
    assert session["accounts"] == []
    refused(choose(linking), 409, "POST_IN_PROGRESS")
    assert sender.api.get("/pages")["pages"] == []


def test_pressing_the_button_gives_the_page_once(accounts: Accounts, simulator: Simulator) -> None:
    """The opposite case: with the press of the button the page is given. This proves that the tests above would notice
    a given page.
    """
    owner = accounts.new(pages=())
    linking = begin(owner, simulator, "TW")
    shown = linking.come_back()
    assert [linking.press(shown, "give").outcome for _ in range(2)] == ["choose", "choose"]
    assert linking.session()["accounts"]
    assert choose(linking).status_code == choose(linking).status_code == 201
    assert len(owner.api.get("/pages")["pages"]) == 1


@pytest.mark.alone
def test_ten_minutes_after_the_login_the_button_gives_nothing(
    sender: Account, simulator: Simulator, clock: Clock
) -> None:
    linking = begin(sender, simulator, "TW")
    shown = linking.come_back()
    clock.shift(minutes=10, seconds=1)
    assert linking.press(shown, "give").outcome == "failed"
    refused(choose(linking), 404, "NOT_FOUND")
    assert sender.api.get("/pages")["pages"] == []
