"""The protection of browsers: cookies, form tokens, headers, and pages that need no API."""

import io
import re
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from flask import g
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from dashboard import api
from dashboard.api import agent_of
from dashboard.app import create_app
from dashboard.config import Config, ConfigError
from dashboard.cookies import form_token
from dashboard.dates import Dates
from dashboard.routes.calendar import Entry
from dashboard.routes.shared import Places
from dashboard.routes.sign_in import _inside
from posthaste.errors import LimitReached, MediaError, ResourceError
from posthaste.records import CalendarPost

#: Nothing listens on the discard port.
NOWHERE = "http://127.0.0.1:9"


def browser(public_url: str = "http://localhost") -> FlaskClient:
    return create_app(Config(api_url=NOWHERE, public_url=public_url)).test_client()


def token_in(page: TestResponse) -> str:
    found = re.search(r'name="form_token" value="([0-9a-f]{64})"', page.text)
    assert found
    return found[1]


@pytest.fixture
def visitor() -> FlaskClient:
    return browser()


@pytest.mark.parametrize("path", ["/sign-in", "/posts", "/nowhere", "/static/dashboard.css", "/healthz"])
def test_every_answer_forbids_foreign_code_and_frames(visitor: FlaskClient, path: str) -> None:
    with visitor.get(path) as answer:
        headers = answer.headers
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"  # no other host is told an address


def test_cookies_are_out_of_reach_of_scripts_and_other_sites() -> None:
    plain = browser().get("/sign-in").headers["Set-Cookie"]
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(plain.split("; "))
    secure = browser("https://posthaste.example.com").get("/sign-in").headers["Set-Cookie"]
    assert secure.startswith("__Host-posthaste_form=")
    assert "Secure" in secure.split("; ")


def test_who_is_signed_out_is_sent_to_the_form_and_back_afterwards(visitor: FlaskClient) -> None:
    assert visitor.get("/posts?tab=published").location == "/sign-in?next=/posts?tab%3Dpublished"
    part = visitor.get("/overview/account", headers={"HX-Request": "true"})
    assert (part.status_code, part.headers["HX-Redirect"]) == (204, "/sign-in")
    seen = {"HX-Request": "true", "HX-Current-URL": "http://localhost/comments?state=all"}
    part = visitor.get("/comments/of/pst_1", headers=seen)
    assert part.headers["HX-Redirect"] == "/sign-in?next=/comments?state%3Dall"


@pytest.mark.parametrize(
    ("seen", "screen"),
    [
        ("/posts/pst_1/edit", "/posts/pst_1"),
        ("/developers/tokens", "/developers"),
        ("/brands/brd_1/invitations", "/brands/brd_1"),
        ("/account/email", "/account/email"),
        ("/brands?archived=yes", "/brands?archived%3Dyes"),
        ("/nowhere/at/all", "/"),
    ],
)
def test_who_is_signed_out_by_a_form_comes_back_to_the_screen_that_has_it(
    visitor: FlaskClient, seen: str, screen: str
) -> None:
    """Some forms are shown again at an address that takes them and has no screen."""
    answer = visitor.post("/brands", headers={"Referer": f"http://localhost{seen}"})
    assert (answer.status_code, answer.location) == (303, f"/sign-in?next={screen}")
    answer = visitor.post("/brands", headers={"Referer": f"https://a.test{seen}"})
    assert answer.location == "/sign-in"


@pytest.mark.parametrize(
    "target", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:1", ""]
)
def test_nobody_is_sent_to_another_host_after_signing_in(target: str) -> None:
    with create_app(Config(api_url=NOWHERE)).test_request_context():
        assert _inside(target) == "/"
        assert _inside("/posts?tab=published") == "/posts?tab=published"


def test_a_form_of_our_own_page_is_taken(visitor: FlaskClient) -> None:
    token = token_in(visitor.get("/sign-in"))
    answer = visitor.post("/sign-in", data={"form_token": token, "email": "a@b.test", "password": "x"})
    assert answer.status_code == 503  # there is no API here
    assert "Posthaste is not responding" in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        *({"Origin": origin} for origin in ("https://evil.example", "null")),
        *({"Sec-Fetch-Site": site} for site in ("cross-site", "same-site")),
    ],
    ids=str,
)
def test_a_form_of_another_site_is_refused_whatever_it_holds(
    visitor: FlaskClient, headers: dict[str, str]
) -> None:
    token = token_in(visitor.get("/sign-in"))
    assert visitor.post("/sign-in", data={"form_token": token}, headers=headers).status_code == 403


@pytest.mark.parametrize(
    "path", ["/sign-in", "/sign-out", "/posts/pst_1/cancel", "/compose", "/compose/files"]
)
@pytest.mark.parametrize("token", ["", "0" * 64, "é"])
def test_no_form_is_taken_without_the_token_of_its_browser(
    visitor: FlaskClient, path: str, token: str
) -> None:
    visitor.get("/sign-in")
    visitor.set_cookie("posthaste_session", "svc_session_x")
    answer = visitor.post(path, data={"form_token": token})
    assert (answer.status_code, "This form is too old" in answer.text) == (403, True)


def test_a_token_is_of_one_browser_and_one_sign_in() -> None:
    tokens = {form_token(key, session) for key in ("k" * 43, "l" * 43) for session in ("", "svc_a", "svc_b")}
    assert len(tokens) == 6


def test_a_token_of_another_browser_is_refused(visitor: FlaskClient) -> None:
    token = token_in(browser().get("/sign-in"))
    visitor.get("/sign-in")
    assert visitor.post("/sign-in", data={"form_token": token}).status_code == 403


def test_the_session_is_in_no_page(visitor: FlaskClient) -> None:
    visitor.set_cookie("posthaste_session", "svc_session_secret")
    page = visitor.get("/posts")
    assert page.status_code == 503
    assert "svc_session_secret" not in page.text + str(page.headers)


def test_without_the_api_each_page_says_so_and_offers_to_load_again(visitor: FlaskClient) -> None:
    visitor.set_cookie("posthaste_session", "svc_session_x")
    for path in ("/", "/posts", "/posts/pst_1", "/compose", "/account"):
        page = visitor.get(path)
        assert (page.status_code, "Try again" in page.text) == (503, True), path


def test_a_cookie_that_holds_no_token_is_no_sign_in(visitor: FlaskClient) -> None:
    page = visitor.get("/posts", headers={"Cookie": r'posthaste_session="\303\251"'})
    assert page.location.startswith("/sign-in")


@pytest.mark.parametrize(
    ("sent", "passed_on"),
    [("Caf\xe9 1.0", "Caf 1.0"), ("Browser \xe9", "Browser"), ("\xe9", "unknown"), ("", "unknown")],
)
def test_a_browser_is_named_to_the_api_as_a_header_can_carry_it(
    visitor: FlaskClient, sent: str, passed_on: str
) -> None:
    assert agent_of(sent) == passed_on
    visitor.set_cookie("posthaste_session", "svc_session_x")
    page = visitor.get("/posts", headers={"User-Agent": sent})
    assert (page.status_code, "Try again" in page.text) == (503, True)


def test_no_page_is_kept_by_caches(visitor: FlaskClient) -> None:
    assert visitor.get("/sign-in").headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("env", [{}, {"API_URL": "ftp://x"}, {"API_URL": NOWHERE, "PORT": "x"}])
def test_settings_that_cannot_work_are_named(env: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"API_URL|PORT"):
        Config.from_env(env)


def test_the_operators_terms_and_privacy_policy_are_linked_once_they_are_set() -> None:
    terms, privacy = "https://example.com/terms", "https://example.com/privacy"
    assert "legal" not in browser().get("/sign-up").text
    assert "legal" not in browser().get("/sign-in").text
    env = {"API_URL": NOWHERE, "DASHBOARD_URL": "http://localhost", "TERMS_URL": terms}
    with_terms = create_app(Config.from_env(env)).test_client()
    assert "you accept <a" in with_terms.get("/sign-up").text
    assert "privacy policy" not in with_terms.get("/sign-up").text
    with_both = create_app(Config.from_env(env | {"PRIVACY_URL": privacy})).test_client()
    for path, times in (("/sign-up", 2), ("/sign-in", 1)):
        page = with_both.get(path).text
        assert (page.count(f'href="{terms}"'), page.count(f'href="{privacy}"')) == (times, times)
    with pytest.raises(ConfigError):
        Config.from_env(env | {"PRIVACY_URL": "javascript:alert(1)"})


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data"])
@pytest.mark.parametrize("key", ["k\0", "k\n", "\x1f", "\x7f", "ключ"])
def test_a_form_whose_key_no_header_can_carry_is_refused_at_once(
    visitor: FlaskClient, kind: str, key: str
) -> None:
    visitor.set_cookie("posthaste_session", "svc_session_x")
    visitor.set_cookie("posthaste_form", "k" * 43)
    data = {"form_token": form_token("k" * 43, "svc_session_x"), "key": key}
    answer = visitor.post("/account/sessions/x/end", data=data, content_type=kind)
    assert answer.status_code == 400
    assert "The idempotency key must be printable ASCII characters." in answer.text


@pytest.fixture
def person(visitor: FlaskClient) -> FlaskClient:
    """A browser that is signed in."""
    visitor.set_cookie("posthaste_session", "svc_session_x")
    visitor.set_cookie("posthaste_form", "k" * 43)
    return visitor


#: What scripts send, and a reason with markup in it, such as the name that somebody has given to a file.
OF_SCRIPTS = {"HX-Request": "true", "X-Form-Token": form_token("k" * 43, "svc_session_x")}
HOSTILE = {"error": "<img src=x onerror=alert(1)>", "code": "MEDIA_REJECTED"}


def test_pages_say_whose_they_are_so_that_scripts_keep_what_was_typed_for_nobody_else(
    person: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = SimpleNamespace(session_token="svc_session_y", timezone="UTC", language="en")
    client = SimpleNamespace(
        log_in=lambda **_: made, list_shared_brands=lambda **_: SimpleNamespace(brands=[])
    )
    monkeypatch.setattr(api, "_api", lambda: SimpleNamespace(client=lambda *_, **__: client))

    def mark(email: str) -> str:
        form = {"form_token": token_in(person.get("/sign-in?ended=1")), "email": email, "password": "x"}
        person.post("/sign-in", data=form)
        found = re.search(r'<body[^>]* data-person="(\w+)"', person.get("/nowhere").text)
        assert found
        assert email not in person.get("/nowhere").text
        return found[1]

    ada, again, bea = mark("ada@a.test"), mark(" Ada@A.test"), mark("bea@a.test")
    assert (ada == again, ada == bea) == (True, False)
    assert "data-person" not in person.get("/sign-in?ended=1").text  # its script keeps nothing


@pytest.mark.parametrize("path", ["/library/files", "/compose/files"])
def test_the_reason_of_a_refused_file_is_text_and_no_page(
    person: FlaskClient, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise MediaError(422, HOSTILE)

    monkeypatch.setattr(api, "patient", lambda: SimpleNamespace(upload=refuse))
    answer = person.post(path, data={"file": (io.BytesIO(b"x"), "a.jpg")}, headers=OF_SCRIPTS)
    assert (answer.status_code, answer.mimetype) == (422, "text/plain")
    assert HOSTILE["error"] in answer.text


def test_the_reason_why_a_post_is_not_moved_is_text_and_no_page(
    person: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise ResourceError(409, HOSTILE)

    at = datetime(2099, 1, 1, 12, tzinfo=UTC)
    client = SimpleNamespace(
        get_post=lambda _: SimpleNamespace(post=SimpleNamespace(scheduled_at=at)),
        iterate_pages=lambda **_: [],
        iterate_brands=lambda **_: [],
        edit_post=refuse,
    )
    monkeypatch.setattr(api, "patient", lambda: client)
    form = {
        "post_id": "pst_1",
        "seen_at": at.isoformat(),
        "zone": "UTC",
        "date": "2099-01-02",
        "time": "12:00",
    }
    answer = person.post("/calendar/move", data=form, headers=OF_SCRIPTS)
    assert (answer.status_code, answer.mimetype) == (409, "text/plain")


def test_a_calendar_shows_as_text_what_people_wrote() -> None:
    """Its entries are the one template that does not escape by itself."""
    text = '<img src="x" onerror=alert(1)>'
    post = CalendarPost(
        id="pst_1", at=datetime(2099, 1, 1, 12, tzinfo=UTC), status="queued", platform="FB", page_id="pag_1",
        brand_id="brd_1", message=text,
    )  # fmt: skip
    brands: Any = {"brd_1": SimpleNamespace(name=f"{text} brand", timezone="Asia/<Tokyo>"), "brd_2": None}
    pages: Any = {"pag_1": SimpleNamespace(name=f"{text} page")}
    app = create_app(Config(api_url=NOWHERE))
    with app.test_request_context():
        g.dates = Dates()
        entry = Entry.of(post, "Europe/Berlin", Places(pages, brands))
        shown = app.jinja_env.globals["slots"]([entry], "")
    assert "<img" not in shown
    assert "<Tokyo>" not in shown
    escaped = "&lt;img src=&#34;x&#34; onerror=alert(1)&gt;"
    for place in (f'dir="auto">{escaped}</span></a>', f'aria-label="Move to… {escaped}"'):
        assert place in shown
    assert f'title="{escaped} page, {escaped} brand">{escaped} page</b>' in shown
    assert 'data-zone="Asia/&lt;Tokyo&gt;"' in shown


@pytest.mark.parametrize(
    ("hops", "told_address"), [(0, None), (1, "10.0.0.1"), (2, "203.0.113.7, 203.0.113.7")]
)
def test_the_api_is_told_the_address_of_the_person_which_nobody_can_forge(
    monkeypatch: pytest.MonkeyPatch, hops: int, told_address: str | None
) -> None:
    """By it the API limits how often somebody tries to sign in. The proxies in front name the last addresses. The
    client may have made up the others, and all of them if there is no proxy.
    """
    told: list[dict[str, str]] = []

    def refuse(**_: Any) -> None:
        raise LimitReached(429, {})

    def client(*_: Any, http: Any, **__: Any) -> SimpleNamespace:
        told.append(http._headers)
        return SimpleNamespace(log_in=refuse)

    monkeypatch.setattr(api, "Posthaste", client)
    visitor = create_app(Config(api_url=NOWHERE, trusted_proxy_hops=hops)).test_client()
    form = {"form_token": token_in(visitor.get("/sign-in")), "email": "a@b.test", "password": "x"}
    forwarded = {"X-Forwarded-For": "192.0.2.1, 203.0.113.7, 10.0.0.1", "X-Real-IP": "192.0.2.1"}
    answer = visitor.post("/sign-in", data=form, headers=forwarded)
    assert (answer.status_code, "Too many tries" in answer.text) == (429, True)
    assert [it.get("X-Forwarded-For") for it in told] == [told_address]
    assert {name for it in told for name in it} <= {"User-Agent", "X-Forwarded-For"}


@pytest.mark.parametrize(
    ("seconds", "wait"),
    [(None, "60 minutes"), (20, "1 minute"), (1801, "31 minutes"), (5401, "2 hours"), (86_400, "24 hours")],
)
@pytest.mark.parametrize("path", ["/sign-in", "/sign-in/forgot", "/sign-up"])
def test_whoever_tries_too_often_is_told_how_long_to_wait(
    visitor: FlaskClient, monkeypatch: pytest.MonkeyPatch, path: str, seconds: float | None, wait: str
) -> None:
    def refuse(**_: Any) -> None:
        raise LimitReached(429, {}, retry_after_seconds=seconds)

    client = SimpleNamespace(log_in=refuse, forgot_password=refuse, sign_up=refuse)
    monkeypatch.setattr(api, "reader", lambda: client)
    form = {"form_token": token_in(visitor.get(path)), "email": "a@b.test", "password": "eight letters"}
    answer = visitor.post(path, data=form)
    assert (answer.status_code, f"Too many tries. Wait {wait}, then try again." in answer.text) == (429, True)
