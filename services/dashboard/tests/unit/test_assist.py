"""AI in the composer, without an API: which jobs still run when a person comes back, and how the others ended."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from flask.testing import FlaskClient

from dashboard import api, kept
from dashboard.app import create_app
from dashboard.config import Config

APP = create_app(Config(api_url="http://127.0.0.1:9", public_url="http://localhost"))
IS_MADE = "is being created"


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> FlaskClient:
    monkeypatch.setattr(kept, "_values", {})
    browser = APP.test_client()
    browser.set_cookie("posthaste_session", "svc_session_x")
    return browser


def job(name: str, media_type: str, status: str = "processing", error: str | None = None) -> SimpleNamespace:
    return SimpleNamespace(
        job_id=name, kind="video" if media_type == "video" else "image", media_type=media_type, status=status,
        prompt=f"Prompt of {name}", credits_charged=10, created_at=datetime.now(UTC), error=error,
    )  # fmt: skip


def answer_with(monkeypatch: pytest.MonkeyPatch, *jobs: SimpleNamespace, media: Any = None) -> None:
    """Makes the API list these jobs, and return the first of them for any job id."""

    def list_ai_jobs(*, status: str, limit: int, kind: str | None = None) -> SimpleNamespace:
        found = [it for it in jobs if it.status == status and kind in (None, it.kind)]
        return SimpleNamespace(jobs=found[:limit], next_cursor="next" if found[limit:] else None)

    left = SimpleNamespace(available=7, remaining=7)
    client = SimpleNamespace(
        get_credits=lambda: SimpleNamespace(credits=left, costs=[]),
        iterate_brands=lambda **_: [],
        list_ai_jobs=list_ai_jobs,
        get_ai_job=lambda _: SimpleNamespace(job=jobs[0], media=media, credits=left),
    )
    monkeypatch.setattr(api, "reader", lambda: client)


def forms(browser: FlaskClient) -> list[str]:
    """Returns the HTML of the composer's three AI forms: captions, images and videos."""
    text = browser.get("/compose/ai", headers={"HX-Request": "true"}).text
    found = text.split('<details class="assist"')[1:]
    assert len(found) == 3
    return found


def test_an_image_and_a_video_that_are_under_way_are_shown_each_at_its_form(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(monkeypatch, job("job_3", "photo", "completed"), job("job_2", "photo"), job("job_1", "video"))
    caption, image, film = forms(browser)
    assert IS_MADE not in caption
    assert "The image “<span" in image
    assert 'hx-get="/compose/ai/jobs/job_2"' in image
    assert "The video “<span" in film
    assert 'hx-get="/compose/ai/jobs/job_1"' in film
    assert [" open>" in it.partition("<summary>")[0] for it in (caption, image, film)] == [False, False, True]


def test_an_image_that_is_under_way_opens_its_form(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(monkeypatch, job("job_2", "photo"))
    is_open = [" open>" in it.partition("<summary>")[0] for it in forms(browser)]
    assert is_open == [False, True, False]


def test_a_video_that_newer_images_would_hide_is_loaded_by_its_form(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(monkeypatch, job("job_3", "photo"), job("job_2", "photo"), job("job_1", "video"))
    _, _, film = found = forms(browser)
    assert [" open>" in it.partition("<summary>")[0] for it in found] == [False, False, True]
    assert 'hx-get="/compose/ai/films" hx-trigger="load"' in film
    part = browser.get("/compose/ai/films", headers={"HX-Request": "true"}).text
    assert 'hx-get="/compose/ai/jobs/job_1"' in part
    assert "<progress" in part
    assert "Prompt of job_3" not in part
    assert "More videos" not in part


def test_of_six_videos_five_are_shown_and_the_others_are_mentioned(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(monkeypatch, *(job(f"job_{number}", "video") for number in range(6, 0, -1)))
    part = browser.get("/compose/ai/films", headers={"HX-Request": "true"}).text
    assert part.count("<progress") == 5
    assert "More videos are being created." in part


def test_without_scripts_the_videos_are_a_page_of_their_own(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(monkeypatch, *(job(f"job_{number}", "photo") for number in (3, 2, 1)))
    assert 'href="/compose/ai/films"' in browser.get("/compose/ai").text
    assert "No video is being created." in browser.get("/compose/ai/films").text


def test_two_jobs_are_shown_without_another_call(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(monkeypatch, job("job_2", "photo"), job("job_1", "video"))
    assert "/compose/ai/films" not in "".join(forms(browser))


def test_how_long_ago_it_began_is_told_after_a_minute(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = job("job_1", "video")
    answer_with(monkeypatch, begun)
    assert "Started" not in forms(browser)[2]
    begun.created_at -= timedelta(minutes=2)
    assert "Started <time" in forms(browser)[2]


def test_of_three_images_the_two_newest_are_shown(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(monkeypatch, *(job(f"job_{number}", "photo") for number in (3, 2, 1)))
    found = forms(browser)
    assert found[1].index("Prompt of job_3") < found[1].index("Prompt of job_2")
    assert "Prompt of job_1" not in "".join(found)


def test_what_is_finished_is_left_to_the_library(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(monkeypatch, job("job_1", "photo", "completed"), job("job_0", "video", "failed"))
    assert IS_MADE not in "".join(forms(browser))


@pytest.mark.parametrize(("media_type", "name"), [("photo", "image"), ("video", "video")])
def test_what_became_of_it_is_told_where_it_was_awaited(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch, media_type: str, name: str
) -> None:
    def look() -> str:
        return browser.get("/compose/ai/jobs/job_1", headers={"HX-Request": "true"}).text

    answer_with(monkeypatch, job("job_1", media_type))
    assert f"the {name} will be in the library" in look()
    answer_with(monkeypatch, job("job_1", media_type, "failed"))
    assert f"The {name} could not be created. Its credits are returned." in look()
    file = SimpleNamespace(media_id="med_1", type=media_type, url="/x", thumbnail_url=None, filename="a.jpg")
    answer_with(monkeypatch, job("job_1", media_type, "completed"), media=file)
    assert f"Use this {name}" in look()
