"""OAuth logins at the gateway: brand and platform, the pages that a person sees, and the cookie that ties a login to
one browser.
"""

from html.parser import HTMLParser
from typing import Any

import msgspec
import pytest

from contracts import accounts, publishing
from contracts.errors import NOT_FOUND, SERVICE_UNAVAILABLE, ApiError

PAGE, CALLBACK = "/connect/start/lnk_1", "/connect/twitter/callback"
FORM = "application/x-www-form-urlencoded"


@pytest.fixture(autouse=True)
def answers(bus: Any, kit: Any) -> None:
    bus.answers["get_brand"] = accounts.Brand(
        id="brd_1", name="Corner Bakery", description=None, logo=None, timezone="UTC", created_at=kit.NOW
    )
    bus.answers["begin_link"] = publishing.LinkBegun(
        session_id="lnk_1", authorize_url="https://posthaste.test/connect/start/lnk_1", expires_at=kit.NOW
    )
    bus.answers["finish_link"] = publishing.LinkSession(
        session_id="lnk_1", platform="TW", brand_id="brd_1", status="pending", accounts=(), error=None,
        expires_at=kit.NOW,
    )  # fmt: skip
    bus.answers["view_link"] = view("start", authorize_url="https://x.test/login?state=s&a=b")
    bus.answers["decide_link"] = view("choose")


@pytest.fixture
def person(client: Any) -> Any:
    """A browser: it sends no token, and keeps cookies."""
    del client.environ_base["HTTP_AUTHORIZATION"]
    return client


def view(status: str, **more: Any) -> publishing.LinkPageView:
    found = publishing.LinkableAccount(
        account_id="1", name="<b>Bakery</b>", username="bakery", followers=0, picture=None
    )
    values = {
        "session_id": "lnk_1", "platform": "TW", "brand_name": "<i>Them</i>", "account_name": "Eve (eve@example.com)",
        "status": status, "accounts": (found,),
    }  # fmt: skip
    return publishing.LinkPageView(**values | more)


class Seen(HTMLParser):
    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.fields: dict[str, str] = {}
        self.links: list[str] = []
        self.outcome = self.text = self.moves_to = ""
        assert answer.content_type == "text/html; charset=utf-8"
        self.feed(answer.get_data(as_text=True))

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.outcome = given.get("data-outcome") or self.outcome
        if given.get("http-equiv") == "refresh":
            self.moves_to = given["content"]
        if tag == "input":
            self.fields[given["name"]] = given["value"]
        if tag == "a":
            self.links.append(given["href"])

    def handle_data(self, data: str) -> None:
        self.text += data


def press(person: Any, bus: Any, **form: str) -> Any:
    """Sends the form of the consent page as a browser does; `form` replaces fields."""
    bus.answers["view_link"] = view("confirm")
    fields = Seen(person.get(PAGE)).fields
    return person.post(PAGE, data=fields | {"decision": "give"} | form)


@pytest.mark.parametrize("platform", ["TW", "twitter", "Twitter"])
def test_a_linking_begins_with_the_names_of_brand_and_account_and_the_platforms_code(
    client, bus, platform
) -> None:
    answer = client.post("/api/v1/pages/connect", json={"platform": platform, "brand_id": "brd_1"})
    assert (answer.status_code, answer.json["session_id"]) == (201, "lnk_1")
    [(_, asked)] = bus.asked("begin_link")
    assert (asked.platform, asked.brand_id, asked.brand_name) == ("TW", "brd_1", "Corner Bakery")
    assert asked.account_name == "Ada L (ada@example.com)"


def test_a_collaborators_linking_names_the_account_that_gets_the_pages(client, bus, kit) -> None:
    bus.answers["authenticate"] = kit.identity(account_id="usr_2")
    owner = {"id": "usr_2", "email": "owner@example.com", "firstname": "", "lastname": ""}
    bus.answers["get_user"] = msgspec.structs.replace(kit.USER, **owner)
    client.post("/api/v1/pages/connect", json={"platform": "TW", "brand_id": "brd_1"})
    [(_, asked)] = bus.asked("begin_link")
    assert asked.account_name == "owner@example.com"


def test_a_brand_that_is_not_there_is_refused(client, bus) -> None:
    bus.answers["get_brand"] = ApiError(NOT_FOUND, field="brand_id")
    answer = client.post("/api/v1/pages/connect", json={"platform": "TW", "brand_id": "brd_2"})
    assert (answer.status_code, answer.json["field"]) == (404, "brand_id")
    assert not bus.asked("begin_link")


def test_the_first_page_names_account_brand_and_platform_and_leads_on(person, bus) -> None:
    answer = person.get(PAGE)
    seen = Seen(answer)
    assert (answer.status_code, seen.outcome) == (200, "start")
    for text in (
        "Eve (eve@example.com)",
        "the brand “<i>Them</i>”",
        "Continue to X",
        "Nothing is linked before",
    ):
        assert text in seen.text
    assert seen.links == ["https://x.test/login?state=s&a=b"]
    assert "i" not in seen.tags


def test_the_cookie_is_for_the_browser_alone(person) -> None:
    cookie = person.get(PAGE).headers["Set-Cookie"]
    name, _, rest = cookie.partition("=")
    assert name == "connect-lnk_1"
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= {part.strip() for part in rest.split(";")}
    assert "Secure" not in cookie


def test_on_https_the_cookie_is_for_https_and_this_host_alone(make_gateway) -> None:
    cookie = (
        make_gateway(public_url="https://posthaste.test")
        .get(PAGE, base_url="https://posthaste.test")
        .headers["Set-Cookie"]
    )
    assert cookie.startswith("__Host-connect-lnk_1=")
    assert "; Secure" in cookie
    assert "Domain" not in cookie


def test_services_know_the_hash_of_the_secret_alone(person, bus) -> None:
    secret = person.get(PAGE).headers["Set-Cookie"].split("=")[1].split(";")[0]
    [(_, asked)] = bus.asked("view_link")
    assert len(asked.browser) == 64
    assert secret not in asked.browser


def test_a_browser_keeps_its_secret_when_it_loads_the_page_again(person, bus) -> None:
    person.get(PAGE)
    person.get(PAGE)
    (_, first), (_, second) = bus.asked("view_link")
    assert first == second


def test_each_session_and_each_browser_has_another_secret(person, bus, make_gateway) -> None:
    person.get(PAGE)
    person.get("/connect/start/lnk_2")
    make_gateway().get(PAGE)
    assert len({asked.browser for _, asked in bus.asked("view_link")}) == 3


@pytest.mark.parametrize("value", ["", "short", "x" * 44, "ä" * 43, "x" * 42 + ";", "=" * 43])
def test_a_cookie_that_is_none_of_ours_counts_as_none(person, bus, value) -> None:
    person.get(CALLBACK, query_string={"state": "lnk_1.b.s"}, headers={"Cookie": f"connect-lnk_1={value}"})
    [(_, asked)] = bus.asked("finish_link")
    assert asked.browser == ""


def test_a_callback_is_passed_on_with_its_browser_and_redirects_to_the_page(person, bus) -> None:
    person.get(PAGE)
    answer = person.get(CALLBACK, query_string={"state": "lnk_1.b.s", "code": "c", "scopes": "x"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "../start/lnk_1")
    assert (answer.headers["Referrer-Policy"], answer.headers["Cache-Control"]) == ("no-referrer", "no-store")
    [(_, seen)], [(_, asked)] = bus.asked("view_link"), bus.asked("finish_link")
    assert (asked.platform, asked.state, asked.code) == ("twitter", "lnk_1.b.s", "c")
    assert asked.browser == seen.browser


@pytest.mark.parametrize("state", ["lnk_2.b.s", "", ".", "lnk_1", "<b>.b.s", "LNK_1.b.s", "lnk_1;.b.s"])
def test_a_cookie_counts_for_its_own_session_alone(person, bus, state) -> None:
    person.get(PAGE)
    person.get(CALLBACK, query_string={"state": state, "browser": "b" * 64})
    [(_, asked)] = bus.asked("finish_link")
    assert (asked.browser == "") is (state != "lnk_1")


def test_a_return_in_another_browser_is_refused_with_a_page(person, bus) -> None:
    bus.answers["finish_link"] = ApiError(NOT_FOUND, reason="other_browser")
    answer = person.get(CALLBACK, query_string={"state": "lnk_1.b.s", "code": "c"})
    seen = Seen(answer)
    assert (answer.status_code, seen.outcome) == (403, "failed")
    assert "started in another browser, or by somebody else. Nothing was linked." in seen.text
    assert "Set-Cookie" not in answer.headers


def test_the_page_after_the_platform_lists_what_was_found_and_asks(person, bus) -> None:
    bus.answers["view_link"] = view("confirm")
    answer = person.get(PAGE)
    seen = Seen(answer)
    assert (answer.status_code, seen.outcome) == (200, "confirm")
    for text in (
        "<b>Bakery</b> (@bakery)", "Give <i>Them</i> access to these pages", "Cancel", "Eve (eve@example.com)",
        "Nothing is linked yet",
    ):  # fmt: skip
        assert text in seen.text
    assert seen.tags.count("button") == 2
    assert set(seen.fields) == {"form_token"}
    assert "form-action 'self'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize(("decision", "is_given"), [("give", True), ("cancel", False)])
def test_a_press_is_the_decision_of_that_browser(person, bus, decision, is_given) -> None:
    answer = press(person, bus, decision=decision)
    assert (answer.status_code, answer.headers["Location"]) == (303, "../start/lnk_1")
    [(_, decided)], [(_, seen)] = bus.asked("decide_link"), bus.asked("view_link")
    assert (decided.session_id, decided.browser, decided.is_given) == ("lnk_1", seen.browser, is_given)


def test_a_second_press_is_answered_like_the_first(person, bus) -> None:
    assert press(person, bus).status_code == press(person, bus).status_code == 303


@pytest.mark.parametrize(
    "form",
    [
        {"form_token": ""},
        {"form_token": "0" * 64},
        {"form_token": "ä"},
        {"decision": ""},
        {"decision": "GIVE"},
        {"decision": "give cancel"},
        {"decision": "link"},
    ],
)
def test_a_form_that_is_not_ours_decides_nothing(person, bus, form) -> None:
    answer = press(person, bus, **form)
    assert (answer.status_code, Seen(answer).outcome) == (403, "failed")
    assert not bus.asked("decide_link")


def test_a_press_without_the_cookie_decides_nothing(person, bus, make_gateway) -> None:
    bus.answers["view_link"] = view("confirm")
    fields = Seen(person.get(PAGE)).fields
    answer = make_gateway().post(PAGE, data=fields | {"decision": "give"})
    assert (answer.status_code, bus.asked("decide_link")) == (403, [])


def test_the_token_of_another_session_or_browser_decides_nothing(person, bus, make_gateway) -> None:
    bus.answers["view_link"] = view("confirm")
    other_session = Seen(person.get("/connect/start/lnk_2")).fields
    other_browser = Seen(make_gateway().get(PAGE)).fields
    for fields in (other_session, other_browser):
        answer = press(person, bus, **fields)
        assert (answer.status_code, bus.asked("decide_link")) == (403, [])


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", FORM),
        (b"\xff\xfe", FORM),
        (b"decision=give&" * 20, FORM),
        (b'{"decision": "give"}', "application/json"),
        (b"decision=give", "text/plain"),
    ],
)
def test_a_body_that_is_no_form_of_ours_decides_nothing(person, bus, body, kind) -> None:
    person.get(PAGE)
    answer = person.post(PAGE, data=body, content_type=kind)
    assert (answer.status_code, bus.asked("decide_link")) == (403, [])


@pytest.mark.parametrize("method", ["get", "head"])
def test_nothing_is_decided_by_looking(person, bus, method) -> None:
    bus.answers["view_link"] = view("confirm")
    token = Seen(person.get(PAGE)).fields["form_token"]
    answer = getattr(person, method)(PAGE, query_string={"decision": "give", "form_token": token})
    assert (answer.status_code, bus.asked("decide_link"), bus.asked("finish_link")) == (200, [], [])


@pytest.mark.parametrize("method", ["put", "delete", "patch"])
def test_other_methods_are_none(person, bus, method) -> None:
    assert getattr(person, method)(PAGE).status_code == 405


@pytest.mark.parametrize(
    ("status", "outcome", "code"),
    [
        ("choose", "choose", 200),
        ("linked", "linked", 200),
        ("refused", "refused", 200),
        ("wait", "pending", 200),
        ("failed", "failed", 400),
        ("confirm", "confirm", 200),
        ("start", "start", 200),
    ],
)
def test_every_page_is_complete_runs_nothing_and_is_kept_and_framed_by_nobody(
    person, bus, status, outcome, code
) -> None:
    problem = publishing.PostError(code="odd", message="<script>") if status == "failed" else None
    bus.answers["view_link"] = view(status, error=problem)
    answer = person.get(PAGE)
    seen = Seen(answer)
    assert (answer.status_code, seen.outcome) == (code, outcome)
    ours = {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "h1",
        "p",
        "a",
        "ul",
        "li",
        "form",
        "input",
    }
    assert set(seen.tags) <= ours | {"button"}
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in policy
    assert (answer.headers["Referrer-Policy"], answer.headers["Cache-Control"]) == ("no-referrer", "no-store")
    assert (answer.headers["X-Frame-Options"], answer.headers["X-Content-Type-Options"]) == (
        "DENY",
        "nosniff",
    )


@pytest.mark.parametrize("status", ["choose", "linked"])
def test_the_last_page_says_whose_brand_has_access_and_how_to_undo_it(person, bus, status) -> None:
    bus.answers["view_link"] = view(status)
    seen = Seen(person.get(PAGE))
    assert "he brand “<i>Them</i>”" in seen.text
    assert "<b>Bakery</b>" in seen.text
    assert "remove the app in the settings of your X account" in seen.text


def test_a_name_does_not_turn_the_sentence_around_it(person, bus) -> None:
    bus.answers["view_link"] = view("confirm", brand_name="\u202eknaB\u2066", account_name="\u200fEve")
    text = Seen(person.get(PAGE)).text
    assert "Give knaB access to these pages" in text
    assert not set(text) & {"\u202e", "\u2066", "\u200f"}


@pytest.mark.parametrize("method", ["view_link", "finish_link"])
@pytest.mark.parametrize(("error", "status"), [(NOT_FOUND, 400), (SERVICE_UNAVAILABLE, 503)])
def test_errors_of_showing_and_finishing_are_pages_for_people_too(person, bus, method, error, status) -> None:
    bus.answers[method] = ApiError(error)
    answer = person.get(PAGE if method == "view_link" else CALLBACK)
    assert (answer.status_code, Seen(answer).outcome) == (status, "failed")


def test_an_error_of_a_decision_is_a_page_for_people_too(person, bus) -> None:
    bus.answers["decide_link"] = ApiError(SERVICE_UNAVAILABLE)
    assert press(person, bus).status_code == 503


def test_a_platforms_endless_words_are_cut(person, bus) -> None:
    person.get(CALLBACK, query_string={"error": "e" * 5_000, "error_description": "d" * 5_000})
    [(_, asked)] = bus.asked("finish_link")
    assert (len(asked.error), len(asked.error_description)) == (100, 500)


def test_the_apps_return_address_goes_to_publishing(client, bus) -> None:
    body = {"platform": "TW", "brand_id": "brd_1", "return_url": "https://app.example/linked"}
    client.post("/api/v1/pages/connect", json=body)
    [(_, asked)] = bus.asked("begin_link")
    assert asked.return_url == "https://app.example/linked"


@pytest.mark.parametrize("status", ["choose", "linked", "refused", "failed"])
def test_the_last_page_brings_the_person_back_to_the_app(person, bus, status) -> None:
    url = "https://app.example/linked?session_id=lnk_1&status=choose"
    bus.answers["view_link"] = view(status, return_url=url)
    answer = person.get(PAGE)
    seen = Seen(answer)
    assert seen.links == [url]
    assert seen.moves_to == f"0;url={url}"
    assert "Back to your app" in seen.text


def test_a_refused_browser_is_brought_nowhere(person, bus) -> None:
    bus.answers["view_link"] = ApiError(NOT_FOUND, reason="other_browser")
    seen = Seen(person.get(PAGE))
    assert (seen.links, seen.moves_to) == ([], "")
