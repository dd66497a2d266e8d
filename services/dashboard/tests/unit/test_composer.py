"""The composer without an API: which text, files and settings it sends for each page."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from flask.testing import FlaskClient

from dashboard import api, kept, platforms
from dashboard.app import create_app
from dashboard.config import Config
from dashboard.cookies import form_token
from dashboard.routes import compose
from posthaste.errors import ApiError, AuthenticationError, ServerError
from posthaste.records import Finding

APP = create_app(Config(api_url="http://127.0.0.1:9", public_url="http://localhost"))
REFUSAL = Finding(
    code="VALIDATION_ERROR", message="Instagram does not take posts without a photo", field="media_ids"
)


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Records the calls that publish. Facebook accepts every post, Instagram only posts with a photo."""
    calls: list[dict[str, Any]] = []
    found = {"pag_f": [], "pag_i": [REFUSAL]}

    def page(page_id: str, platform: str) -> SimpleNamespace:
        return SimpleNamespace(
            id=page_id,
            name=platform,
            platform=platform,
            brand_id="brd_1",
            brand_name="Brand",
            expired=False,
            username=None,
        )

    def validate(page_ids: list[str], **_: object) -> SimpleNamespace:
        results = [SimpleNamespace(page_id=it, errors=found[it], warnings=[]) for it in page_ids]
        return SimpleNamespace(results=results)

    def publish(**content: Any) -> SimpleNamespace:
        calls.append(content)
        post = SimpleNamespace(post_id="pst_1", status="published", permalink=None, published_at=None)
        results = [
            SimpleNamespace(page_id=it, error=None, scheduled_post=None, post=post)
            for it in content["page_ids"]
        ]
        return SimpleNamespace(results=results)

    client = SimpleNamespace(
        iterate_pages=lambda **_: [page("pag_f", "FB"), page("pag_i", "IG")],
        iterate_brands=lambda **_: [SimpleNamespace(id="brd_1", name="Brand", timezone="UTC")],
        validate_posts=validate, publish_posts=publish,
    )  # fmt: skip
    monkeypatch.setattr(api, "reader", lambda: client)
    monkeypatch.setattr(api, "patient", lambda: client)
    monkeypatch.setattr(kept, "_values", {})
    facts = dict.fromkeys(platforms.Platform.__dataclass_fields__, 0)
    rules = {
        code: platforms.Platform(
            **facts | {"code": code, "settings_field": f"{code}_settings", "settings": ()}
        )
        for code in ("FB", "IG")
    }
    monkeypatch.setattr(compose, "recent_platforms", lambda _client: lambda: rules)
    return calls


def send(pages: list[str], do: str = "ready", address: str = "/compose", **more: str) -> Any:
    browser: FlaskClient = APP.test_client()
    browser.set_cookie("posthaste_session", "svc_session_x")
    shown = browser.get("/compose").text
    token = shown.partition('name="form_token" value="')[2].partition('"')[0]
    form = {
        "form_token": token,
        "page_id": pages,
        "message": "Bread",
        "when": "now",
        "key": "k" * 32,
        "do": do,
        **more,
    }
    return browser.post(address, data=form)


@pytest.mark.parametrize("do", ["open", "send", "edit", "check"])
def test_who_may_no_longer_see_the_pages_is_not_shown_those_that_were_kept(
    published: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, do: str
) -> None:
    """The composer's pages and brands are kept for a minute: another call notices that the session has ended."""

    def refuse(**_: object) -> None:
        raise AuthenticationError(401, {})

    browser: FlaskClient = APP.test_client()
    browser.set_cookie("posthaste_session", "svc_session_x")
    shown = browser.get("/compose").text
    assert 'value="pag_f"' in shown
    token = shown.partition('name="form_token" value="')[2].partition('"')[0]
    monkeypatch.setattr(api.reader(), "iterate_pages", refuse)
    address = {"send": "/compose", "edit": "/compose/edit", "check": "/compose/check"}.get(do)
    # Neither asks for anything else: the time is none.
    form = {"form_token": token, "page_id": "pag_f", "when": "later", "date": "", "time": "", "zone": "UTC"}
    answer = browser.post(address, data=form) if address else browser.get("/compose")
    assert (answer.status_code, answer.location.partition("?")[0]) == (303 if address else 302, "/sign-in")


def test_a_check_of_a_post_without_pages_costs_no_call(
    published: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is checked at every pause, and shows the name of no page."""
    browser: FlaskClient = APP.test_client()
    browser.set_cookie("posthaste_session", "svc_session_x")
    token = browser.get("/compose").text.partition('name="form_token" value="')[2].partition('"')[0]
    monkeypatch.setattr(api.reader(), "iterate_pages", None)
    answer = browser.post("/compose/check", data={"form_token": token, "message": "Bread", "when": "now"})
    assert (answer.status_code, "pag_" in answer.text) == (200, False)


def test_a_post_goes_to_the_pages_that_can_take_it_and_the_others_say_why(
    published: list[dict[str, Any]],
) -> None:
    answer = send(["pag_f", "pag_i"])
    assert answer.status_code == 200
    assert [it["page_ids"] for it in published] == [["pag_f"]]
    assert "<h1>Published on Facebook. Not published on Instagram.</h1>" in answer.text
    assert "Instagram does not take posts without a photo" in answer.text
    assert '<span class="status failed">Not published</span>' in answer.text
    assert 'name="page_id" value="pag_i"' in answer.text  # the button that tries the others again
    assert "Edit and retry on Instagram" in answer.text


def test_a_first_comment_goes_out_with_the_post(published: list[dict[str, Any]]) -> None:
    assert send(["pag_f"], first_comment="Ask for the broken ones.").status_code == 200
    assert [it["first_comment"] for it in published] == ["Ask for the broken ones."]


def test_a_page_that_may_have_the_post_is_not_called_refused_and_not_tried_again(
    published: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = api.reader().publish_posts

    def lose(**content: Any) -> Any:
        sent = publish(**content).results
        sent[1].error = {
            "code": "PLATFORM_OUTCOME_UNKNOWN",
            "error": "No answer from Instagram",
            "post_id": "pst_2",
        }
        return SimpleNamespace(results=sent)

    monkeypatch.setattr(api.reader(), "publish_posts", lose)
    answer = send(["pag_f", "pag_i"], do="send")
    assert "<h1>Published on Facebook. Not confirmed by Instagram yet.</h1>" in answer.text
    assert "/posts/pst_2" in answer.text
    assert "Edit and retry" not in answer.text


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        (ApiError, 502, "PLATFORM_OUTCOME_UNKNOWN"),
        (ApiError, 409, "POST_IN_PROGRESS"),
        (ServerError, 503, "SERVICE_UNAVAILABLE"),
    ],
)
def test_a_post_that_may_be_out_is_sent_again_under_the_same_key(
    monkeypatch: pytest.MonkeyPatch, kind: type[ApiError], status: int, code: str
) -> None:
    def lose(**_: object) -> None:
        raise kind(status, {"error": "No answer from Facebook.", "code": code})

    monkeypatch.setattr(api.reader(), "publish_posts", lose)
    answer = send(["pag_f"], do="send")
    assert "No answer from Facebook. Send it again in a moment: each page gets it only once." in answer.text
    assert "Nothing was published" not in answer.text
    assert f'name="key" value="{"k" * 32}"' in answer.text


def test_a_post_that_no_page_can_take_goes_nowhere_and_stays_in_the_form(
    published: list[dict[str, Any]],
) -> None:
    answer = send(["pag_i"])
    assert answer.status_code == 422
    assert published == []
    assert ">Bread</textarea>" in answer.text


def test_a_refused_post_says_above_it_that_nothing_is_out_and_beside_the_fields_why(
    published: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise ApiError(422, {"error": "Refused by the first page", "code": "VALIDATION_ERROR"})

    monkeypatch.setattr(api.reader(), "publish_posts", refuse)
    answer = send(["pag_f", "pag_i"], do="send")
    assert answer.status_code == 422
    assert "Nothing was published. Fix what is marked below." in answer.text
    assert "Refused by the first page" not in answer.text
    assert "Nothing was published. Refused by the first page" in send(["pag_f"], do="send").text


def test_what_stands_above_a_refused_post_goes_once_every_page_can_take_it(
    published: list[dict[str, Any]],
) -> None:
    gone = 'id="refused" hx-swap-oob="innerHTML"></div>'
    assert gone not in send(["pag_f", "pag_i"], address="/compose/check").text
    assert gone in send(["pag_f"], address="/compose/check").text


@pytest.mark.usefixtures("published")
def test_a_copy_takes_its_files_from_the_post_without_asking_the_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    media = [
        SimpleNamespace(src="https://api.test/media/k3J9/rye%20bread.jpg", type="photo", thumbnail_url="/small.jpg"),
        SimpleNamespace(src="https://api.test/media/x2Lq/oven.mp4", type="video", thumbnail_url=None),
        SimpleNamespace(src="https://elsewhere.test/window.jpg", type="photo", thumbnail_url=None),
    ]  # fmt: skip
    post = SimpleNamespace(
        brand_id="brd_1", page_id="pag_f", status="published", scheduled_at=None, message="Bread", first_comment=None,
        media_ids=["med_1", "med_2"], media=media,
    )  # fmt: skip
    client: Any = api.reader()  # it has no list of the library
    monkeypatch.setattr(client, "get_post", lambda _: SimpleNamespace(post=post), raising=False)
    browser = APP.test_client()
    browser.set_cookie("posthaste_session", "svc_session_x")
    page = browser.get("/compose?copy=pst_1").text
    files = page.partition('id="files"')[2].partition("</ul>")[0]
    assert re.findall(r'name="media_id" value="(\w+)"', files) == ["med_1", "med_2"]
    assert re.findall(r'class="name" dir="auto">([^<]+)<', files) == ["rye bread.jpg", "oven.mp4"]
    assert 'src="/small.jpg"' in files
    assert ">Video</span>" in files


@pytest.mark.parametrize("is_part", [True, False])
def test_what_ai_made_says_how_many_credits_are_left_also_above_the_forms_of_the_composer(
    monkeypatch: pytest.MonkeyPatch, is_part: bool
) -> None:
    made = SimpleNamespace(text="Rye", credits=SimpleNamespace(remaining=1_234))
    monkeypatch.setattr(api, "patient", lambda: SimpleNamespace(write_caption=lambda **_: made))
    browser = APP.test_client()
    for name, value in (("session", "svc_session_x"), ("form", "k" * 43)):
        browser.set_cookie(f"posthaste_{name}", value)
    form = {
        "form_token": form_token("k" * 43, "svc_session_x"),
        "ai_brand": "brd_1",
        "ai_instruction": "Short",
    }
    headers = {"HX-Request": "true"} if is_part else {}
    answer = browser.post("/compose/ai/caption", data=form, headers=headers)
    assert answer.status_code == 200
    assert "1,234 credits are left" in answer.text
    above = '<span id="credits-left" hx-swap-oob="innerHTML">1,234 AI credits are left.</span>'
    assert (above in answer.text) == is_part


def test_the_button_names_the_one_platform_that_can_take_the_post(published: list[dict[str, Any]]) -> None:
    shown = send(["pag_f", "pag_i"], address="/compose/check").text
    assert ">Publish on Facebook only</button>" in shown
    assert "only</button>" not in send(["pag_f"], address="/compose/check").text


def test_the_button_counts_pages_where_one_platform_has_several() -> None:
    pages = {it: SimpleNamespace(platform=it[:2]) for it in ("FB1", "FB2", "IG1")}
    places: Any = SimpleNamespace(pages=pages)
    assert compose.only_platform({"FB1": [], "FB2": [REFUSAL]}, ["FB1"], places) == ""
    assert compose.only_platform({"FB1": [], "FB2": [], "IG1": [REFUSAL]}, ["FB1", "FB2"], places) == ""
    assert compose.only_platform({"FB1": [], "IG1": [REFUSAL]}, ["FB1"], places) == "Facebook only"


def test_a_finding_is_told_beside_its_field_alone_and_the_list_leads_there(
    published: list[dict[str, Any]],
) -> None:
    shown = send(["pag_f", "pag_i"], address="/compose/check").text
    assert shown.count(REFUSAL.message) == 1
    assert 'Fix: <a href="#beside-media">Photos and videos</a>' in shown
