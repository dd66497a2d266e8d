"""TikTok: the meaning of its codes, the sizes of chunks, and the fields of a post."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from publishing.platforms.base import (
    Account,
    Checkpoint,
    Content,
    MediaSource,
    PlatformRefusal,
    Published,
    Refusal,
)
from publishing.platforms.http_client import Response
from publishing.platforms.limits import check_content
from publishing.platforms.tiktok.calls import data_of
from publishing.platforms.tiktok.connector import _published
from publishing.platforms.tiktok.errors import failure
from publishing.platforms.tiktok.texts import cut as cut_text
from publishing.platforms.tiktok.texts import photo_post, post_info, privacy, source_of_photos
from publishing.platforms.tiktok.upload import cut

MIB = 2**20
OFFERED = {"privacy_level_options": ["PUBLIC_TO_EVERYONE", "MUTUAL_FOLLOW_FRIENDS", "SELF_ONLY"]}
VIDEO = (MediaSource("video", "https://a.example/a.mp4"),)
PHOTOS = tuple(MediaSource("photo", f"https://a.example/{number}.jpg") for number in range(3))


def answer(status: int, code: str) -> Response:
    return Response(status, {}, {"data": {}, "error": {"code": code, "message": "no", "log_id": "1"}})


@pytest.mark.parametrize("status", [200, 400, 401, 403])
@pytest.mark.parametrize(
    ("code", "kind", "wait"),
    [
        ("access_token_invalid", Refusal.EXPIRED, None), ("scope_not_authorized", Refusal.PERMISSION, None),
        ("rate_limit_exceeded", Refusal.RATE_LIMITED, 60.0), ("invalid_params", Refusal.REJECTED, None),
        ("spam_risk_too_many_posts", Refusal.RATE_LIMITED, 27_900.0), ("spam_risk", Refusal.REJECTED, None),
        ("spam_risk_user_banned_from_posting", Refusal.PERMISSION, None),
        ("reached_active_user_cap", Refusal.RATE_LIMITED, 27_900.0),
        ("url_ownership_unverified", Refusal.PERMISSION, None),
        ("privacy_level_option_mismatch", Refusal.REJECTED, None),
        ("unaudited_client_can_only_post_to_private_accounts", Refusal.PERMISSION, None),
        ("internal_error", Refusal.TRANSIENT, None), ("something_new", Refusal.REJECTED, None),
    ],
)  # fmt: skip
def test_a_code_means_the_same_whatever_the_status(
    status: int, code: str, kind: Refusal, wait: float | None
) -> None:
    with pytest.raises(PlatformRefusal) as refusal:
        data_of(answer(status, code), visible=False)
    assert (refusal.value.kind, refusal.value.code, refusal.value.wait_seconds) == (kind, code, wait)


def test_a_platform_in_trouble_cuts_no_page_off() -> None:
    with pytest.raises(PlatformRefusal) as refusal:
        data_of(answer(503, "access_token_invalid"), visible=False)
    assert refusal.value.kind is Refusal.TRANSIENT
    with pytest.raises(PlatformRefusal) as refusal:
        data_of(Response(502, {}, None), visible=False)
    assert refusal.value.kind is Refusal.TRANSIENT


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("file_format_check_failed", Refusal.REJECTED), ("duration_check_failed", Refusal.REJECTED),
        ("photo_pull_failed", Refusal.TRANSIENT), ("internal", Refusal.TRANSIENT), ("", Refusal.REJECTED),
        ("auth_removed", Refusal.EXPIRED), ("spam_risk_too_many_posts", Refusal.RATE_LIMITED),
        ("spam_risk_text", Refusal.REJECTED),
    ],
)  # fmt: skip
def test_a_failed_post_says_why(reason: str, kind: Refusal) -> None:
    assert failure(reason).kind is kind


@pytest.mark.parametrize(
    ("size", "chunk", "count", "last"),
    [
        (1, 1, 1, 1), (5 * MIB - 1, 5 * MIB - 1, 1, 5 * MIB - 1), (32 * MIB - 1, 32 * MIB - 1, 1, 32 * MIB - 1),
        (32 * MIB, 16 * MIB, 2, 16 * MIB), (33 * MIB, 16 * MIB, 2, 17 * MIB),
        (250 * MIB, 16 * MIB, 15, 26 * MIB), (4_000_000_000, 16 * MIB, 238, 4_000_000_000 - 237 * 16 * MIB),
    ],
)  # fmt: skip
def test_a_file_is_cut_as_tiktok_counts(size: int, chunk: int, count: int, last: int) -> None:
    chunks = cut(size, 16 * MIB)
    assert (chunks.chunk_bytes, chunks.count) == (chunk, count)
    assert count == size // chunk
    spans = [(chunks.first(number), chunks.end(number)) for number in range(count)]
    assert spans[0][0] == 0
    assert spans[-1][1] == size
    assert all(one[1] == following[0] for one, following in pairwise(spans))
    assert spans[-1][1] - spans[-1][0] == last <= 128_000_000


@pytest.mark.parametrize(
    ("asked", "options", "is_audited", "level"),
    [
        (None, OFFERED["privacy_level_options"], True, "SELF_ONLY"),
        (None, ["PUBLIC_TO_EVERYONE", "FOLLOWER_OF_CREATOR"], True, "FOLLOWER_OF_CREATOR"),
        (None, ["PUBLIC_TO_EVERYONE"], True, "PUBLIC_TO_EVERYONE"), (None, ["BRAND_NEW"], True, "BRAND_NEW"),
        ("PUBLIC_TO_EVERYONE", OFFERED["privacy_level_options"], True, "PUBLIC_TO_EVERYONE"),
        ("SELF_ONLY", OFFERED["privacy_level_options"], False, "SELF_ONLY"),
        ("FOLLOWER_OF_CREATOR", OFFERED["privacy_level_options"], True, "privacy_level_option_mismatch"),
        (None, [], True, "privacy_level_option_mismatch"),
        (None, ["PUBLIC_TO_EVERYONE"], False, "privacy_level_option_mismatch"),
        ("PUBLIC_TO_EVERYONE", ["PUBLIC_TO_EVERYONE"], False, "unaudited_client_can_only_post_to_private_accounts"),
    ],
)  # fmt: skip
def test_the_privacy_is_one_that_is_offered_and_the_strictest_unless_asked(
    asked: str | None, options: list[str], is_audited: bool, level: str
) -> None:
    creator = {"privacy_level_options": options}
    if level in ("SELF_ONLY", *options):
        assert privacy(asked, creator, is_audited) == level
    else:
        with pytest.raises(PlatformRefusal) as refusal:
            privacy(asked, creator, is_audited)
        assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, level)


def test_a_video_has_a_caption_and_photos_a_title_and_a_description() -> None:
    settings = {"is_aigc": True, "photo_cover_index": 2, "new": [1], "disable_duet": None}
    video = post_info(Content("Bread", VIDEO, settings), OFFERED | {"duet_disabled": True}, is_audited=True)
    required = {"brand_content_toggle": False, "brand_organic_toggle": False}
    assert video == required | {
        "title": "Bread", "is_aigc": True, "new": [1], "privacy_level": "SELF_ONLY", "disable_duet": True,
    }  # fmt: skip
    message = "\n" + "🍞" * 50 + "\nmore"
    photos = post_info(Content(message, PHOTOS), OFFERED | {"comment_disabled": True}, is_audited=True)
    assert photos == required | {
        "title": "🍞" * 45, "description": message, "privacy_level": "SELF_ONLY", "disable_comment": True,
    }  # fmt: skip
    titled = post_info(Content("Bread", PHOTOS, {"title": "Loaf"}), OFFERED, is_audited=True)
    assert (titled["title"], titled["description"]) == ("Loaf", "Bread")


def test_a_setting_of_the_other_kind_of_post_is_not_sent() -> None:
    """TikTok documents some fields for photos only and others for videos only."""
    settings = dict.fromkeys(("disable_duet", "disable_stitch", "is_aigc", "auto_add_music"), True)
    settings |= {"video_cover_timestamp_ms": 5, "brand_content_toggle": True}
    both = {"privacy_level", "brand_content_toggle", "brand_organic_toggle"}
    photos = post_info(Content("", PHOTOS, settings), OFFERED, is_audited=True)
    assert set(photos) == {*both, "description", "auto_add_music"}
    video = post_info(Content("", VIDEO, settings), OFFERED, is_audited=True)
    assert set(video) == {*both, "title", *settings} - {"auto_add_music"}


@pytest.mark.parametrize(
    ("settings", "is_ai_made", "label"),
    [({}, False, None), ({"is_aigc": True}, False, True), ({"is_aigc": False}, True, True)],
)
def test_photos_of_an_ai_are_marked_beside_the_other_fields_of_the_post(
    settings: dict[str, Any], is_ai_made: bool, label: bool | None
) -> None:
    photos = tuple(replace(photo, is_ai_made=is_ai_made) for photo in PHOTOS)
    content = Content("Bread", photos, settings)
    body = photo_post(content, post_info(content, OFFERED, is_audited=True))
    assert body.get("is_aigc") is label
    assert "is_aigc" not in body["post_info"]


@pytest.mark.parametrize(
    ("privacy", "status", "published"),
    [
        ("PUBLIC_TO_EVERYONE", {}, Published("v_1", is_named_later=True)),
        ("SELF_ONLY", {}, Published("v_1")),
        ("PUBLIC_TO_EVERYONE", {"status": "SEND_TO_USER_INBOX"}, Published("v_1")),
        (
            "PUBLIC_TO_EVERYONE",
            {"publicaly_available_post_id": [731]},
            Published("731", "https://www.tiktok.com/@bakery/video/731"),
        ),
    ],
)
def test_a_post_has_its_publish_id_until_tiktok_gives_it_another(
    privacy: str, status: dict[str, Any], published: Published
) -> None:
    checkpoint = Checkpoint({"publish_id": "v_1", "privacy": privacy})
    assert _published(Account("7", "token", "bakery"), checkpoint, status) == published


def test_photos_are_named_by_address_with_a_cover_that_exists() -> None:
    source = source_of_photos(Content("", PHOTOS, {"photo_cover_index": 9}))
    assert source == {
        "source": "PULL_FROM_URL", "photo_images": [photo.url for photo in PHOTOS], "photo_cover_index": 2,
    }  # fmt: skip


def test_a_text_is_cut_between_letters() -> None:
    assert [cut_text("a🍞b", units) for units in range(5)] == ["", "a", "a", "a🍞", "a🍞b"]


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"privacy_level": "EVERYBODY"}, "privacy_level"), ({"disable_comment": "no"}, "disable_comment"),
        ({"video_cover_timestamp_ms": -1}, "video_cover_timestamp_ms"),
        ({"photo_cover_index": 35}, "photo_cover_index"),
        ({"title": 7}, "title"),
    ],
)  # fmt: skip
def test_what_is_known_of_the_settings_is_checked(settings: dict[str, Any], field: str) -> None:
    [finding] = check_content("TT", "text", ["video"], settings=settings)
    assert finding.extras["errors"][0]["field"] == f"tiktok_settings.{field}"


def test_what_is_not_known_of_them_passes() -> None:
    assert check_content("TT", "text", ["video"], settings={"anything": {"x": 1}, "title": None}) == []
