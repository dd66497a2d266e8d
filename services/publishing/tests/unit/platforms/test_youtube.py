"""YouTube: the meaning of its error reasons, waits for its quota, the fields of a video, and files in pieces."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.platforms.http_client import Response
from publishing.platforms.limits import check_content
from publishing.platforms.oauth import forms
from publishing.platforms.oauth.base import Tokens
from publishing.platforms.pinning import is_pinned
from publishing.platforms.uploads.pieces import Piece, Pieces
from publishing.platforms.youtube.errors import problem_of, refusal_from, seconds_to_midnight
from publishing.platforms.youtube.login import YouTubeLogin
from publishing.platforms.youtube.settings import YouTubeSettings
from publishing.platforms.youtube.texts import title_from, video_of


def error(status: int, reason: str | None, headers: Mapping[str, str] | None = None) -> Response:
    rows = [{"domain": "youtube.video", "reason": reason, "message": "no"}] if reason else []
    return Response(status, headers or {}, {"error": {"code": status, "message": "no", "errors": rows}})


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (401, "authError", Refusal.EXPIRED), (401, None, Refusal.EXPIRED),
        (401, "youtubeSignupRequired", Refusal.PERMISSION), (403, "insufficientPermissions", Refusal.PERMISSION),
        (403, "forbidden", Refusal.PERMISSION), (403, "somethingNew", Refusal.PERMISSION),
        (403, "quotaExceeded", Refusal.RATE_LIMITED), (403, "rateLimitExceeded", Refusal.RATE_LIMITED),
        (400, "uploadLimitExceeded", Refusal.RATE_LIMITED), (429, None, Refusal.RATE_LIMITED),
        (400, "invalidTitle", Refusal.REJECTED), (404, "videoNotFound", Refusal.REJECTED),
        (503, "backendError", Refusal.TRANSIENT), (500, "authError", Refusal.TRANSIENT),
    ],
)  # fmt: skip
def test_a_reason_means_one_kind_of_refusal(status: int, reason: str | None, kind: Refusal) -> None:
    refusal = refusal_from(error(status, reason))
    assert refusal is not None
    assert refusal.kind is kind
    assert refusal.code == (reason or str(status))


def test_an_answer_that_is_not_googles_is_no_refusal() -> None:
    for body in (None, {}, {"error": "no"}, []):
        assert refusal_from(Response(502, {}, body)) is None


@pytest.mark.parametrize(
    ("now", "hours"),
    [
        ("2026-01-15T08:00:00", 24), ("2026-01-15T07:59:00", 1 / 60), ("2026-07-15T06:00:00", 1),
        # The days on which summer time begins and ends have 23 and 25 hours.
        ("2026-03-08T08:00:00", 23), ("2026-11-01T07:00:00", 25),
    ],
)  # fmt: skip
def test_a_days_quota_is_filled_again_at_midnight_in_california(now: str, hours: float) -> None:
    at = datetime.fromisoformat(now).replace(tzinfo=UTC)
    assert seconds_to_midnight(at) == pytest.approx(hours * 3600)
    refusal = refusal_from(error(403, "quotaExceeded"), at)
    assert refusal is not None
    assert refusal.wait_seconds == pytest.approx(hours * 3600)


def test_other_limits_wait_as_long_as_they_say() -> None:
    said = refusal_from(error(403, "rateLimitExceeded", {"Retry-After": "7"}))
    unsaid = refusal_from(error(403, "rateLimitExceeded"))
    channel = refusal_from(error(400, "uploadLimitExceeded"))
    assert said is not None
    assert unsaid is not None
    assert channel is not None
    assert (said.wait_seconds, unsaid.wait_seconds, channel.wait_seconds) == (7.0, None, 43_200.0)


def test_a_video_that_was_given_up_says_why() -> None:
    assert problem_of({"status": {"uploadStatus": "processed"}}) is None
    problem = problem_of({"status": {"uploadStatus": "rejected", "rejectionReason": "copyright"}})
    assert problem is not None
    assert (problem.kind, problem.code) == (Refusal.REJECTED, "rejected/copyright")


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("Bread", "Bread"),
        ("\n  Bread \nand more", "Bread"),
        ("a" * 150, "a" * 100),
        ("", ""),
        ("🍞" * 101, "🍞" * 100),
    ],
)
def test_a_video_without_a_title_has_its_first_line(message: str, title: str) -> None:
    assert title_from(message) == title


def test_what_is_asked_is_what_youtube_is_told() -> None:
    plain = video_of("Bread\nwarm", {"title": None, "unknown": 1})
    assert plain == {
        "snippet": {"title": "Bread", "description": "Bread\nwarm", "categoryId": "22"},
        "status": {"privacyStatus": "public"},
    }
    asked = video_of("", {"title": "T", "privacy": "private", "tags": ["a", "b c"], "made_for_kids": False})
    assert asked["snippet"]["tags"] == ["a", "b c"]
    assert asked["status"] == {"privacyStatus": "private", "selfDeclaredMadeForKids": False}


@pytest.mark.parametrize(
    ("message", "settings", "field"),
    [
        ("text", {"title": ""}, "youtube_settings.title"), ("text", {"title": "x" * 101}, "youtube_settings.title"),
        ("text", {"title": "a <b>"}, "youtube_settings.title"), ("text", {"title": 7}, "youtube_settings.title"),
        ("text", {"privacy": "friends"}, "youtube_settings.privacy"),
        ("text", {"tags": "a,b"}, "youtube_settings.tags"),
        ("text", {"tags": ["a" * 250, "b" * 250]}, "youtube_settings.tags"),
        ("text", {"tags": ["<"]}, "youtube_settings.tags"),
        ("text", {"made_for_kids": "no"}, "youtube_settings.made_for_kids"),
        ("text", {"category_id": "music"}, "youtube_settings.category_id"),
        ("", {}, "youtube_settings.title"), ("a > b", {}, "message"), ("é" * 2_501, {}, "message"),
    ],
)  # fmt: skip
def test_what_youtube_would_refuse_is_found(message: str, settings: dict[str, Any], field: str) -> None:
    [finding] = check_content("YT", message, ["video"], settings=settings)
    assert finding.extras["errors"][0]["field"] == field


def test_a_title_makes_up_for_a_message() -> None:
    good = {
        "title": "T" * 100,
        "privacy": "unlisted",
        "tags": ["a" * 249, "b" * 250],
        "made_for_kids": True,
    }
    assert check_content("YT", "", ["video"], settings=good) == []


def test_a_file_is_cut_into_pieces_of_the_size_asked_for() -> None:
    pieces = Pieces(iter([b"abc", b"defgh"]))
    pieces.skip(2)
    first, second = Piece(pieces, 3, "video/mp4"), Piece(pieces, 3, "video/mp4")
    assert (b"".join(first), first.is_sent, second.is_sent) == (b"cde", True, False)
    assert b"".join(second) == b"fgh"
    with pytest.raises(PlatformRefusal) as refusal:
        list(pieces.take(1))
    assert (refusal.value.kind, refusal.value.code) == (Refusal.TRANSIENT, "MEDIA_CHANGED")


@pytest.mark.parametrize(
    ("url", "is_good"),
    [
        ("https://www.googleapis.com/upload/x?upload_id=1", True), ("https://a.up.example/x", True),
        ("https://b.example:8443/x", True), ("https://www.googleapis.com:443/x", True),
        ("http://www.googleapis.com/x", False), ("https://www.googleapis.com:444/x", False),
        ("https://www.googleapis.com@evil.example/x", False), ("https://evil.example/www.googleapis.com", False),
        ("https://www.googleapis.com.evil.example/", False), ("https://notup.example/", False),
        ("/upload", False), ("", False), ("https://[bad/", False),
    ],
)  # fmt: skip
def test_files_and_tokens_go_to_the_platforms_own_hosts_only(url: str, is_good: bool) -> None:
    assert is_pinned(url, "https://b.example:8443", ("www.googleapis.com", ".up.example")) is is_good


def test_a_revocation_sends_google_the_refresh_token_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[tuple[str, Mapping[str, str]]] = []
    monkeypatch.setattr(forms, "post", lambda _client, url, form, **_: sent.append((url, form)))
    assert YouTubeLogin(YouTubeSettings()).revoke(Tokens("access", refresh_token="refresh"))
    assert sent == [("https://oauth2.googleapis.com/revoke", {"token": "refresh"})]
