"""The rules for the fields of a post."""

import pytest

from contracts.publishing import PostContent
from publishing.records import Attached
from publishing.rules.content import columns, findings, own_file

PHOTO = "https://example.com/a.jpg"


def codes(platform: str = "FB", **fields: object) -> list[str]:
    return [finding.code for finding in findings(PostContent(**fields), platform, {})]  # type: ignore[arg-type]


def test_a_message_alone_and_a_photo_alone_are_enough() -> None:
    assert codes(message="hello") == []
    assert codes(media_urls=(PHOTO,)) == []


@pytest.mark.parametrize("message", [None, "", "  \n"])
def test_neither_message_nor_media_is_refused(message: str | None) -> None:
    assert codes(message=message) == ["VALIDATION_ERROR"]


def test_a_message_over_5000_characters_is_refused_beside_what_else_is_wrong() -> None:
    assert codes(message="x" * 5_000) == []
    assert codes(message="x" * 5_001) == ["VALIDATION_ERROR"]
    wrong = codes(message="x" * 5_001, media_urls=("http://127.0.0.1/a.jpg",))
    assert sorted(wrong) == ["INVALID_MEDIA_URL", "VALIDATION_ERROR"]


def test_eleven_media_items_are_refused_before_the_platform_is_asked() -> None:
    assert codes(media_urls=(PHOTO,) * 11) == ["VALIDATION_ERROR"]


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1/a.jpg", "ftp://example.com/a.jpg", "http://2130706433/", "http://[::1]/", "nonsense"],
)
def test_a_media_url_that_is_not_public_is_refused(url: str) -> None:
    assert codes(media_urls=(url,)) == ["INVALID_MEDIA_URL"]


@pytest.mark.parametrize(
    "fields",
    [
        {"message": "a\0b"},
        {"message": "\ud800"},
        {"message": "ok", "first_comment": "a\0"},
        {"message": "ok", "facebook_settings": {"a": [{"b\0": 1}]}},
        {"message": "ok", "facebook_settings": {"a": "\udfff"}},
        {"media_urls": ("https://example.com/\0",)},
    ],
)
def test_what_cannot_be_stored_is_refused(fields: dict[str, object]) -> None:
    assert "VALIDATION_ERROR" in codes(**fields)


def test_a_first_comment_where_there_is_none_and_foreign_settings_are_refused() -> None:
    assert codes("TT", media_urls=("https://example.com/a.mp4",), first_comment="first") == [
        "VALIDATION_ERROR"
    ]
    assert codes("FB", message="hi", tiktok_settings={}) == ["VALIDATION_ERROR"]
    assert codes("TW", message="hi", x_settings={}) == []


def test_text_alone_on_a_platform_of_pictures_is_unsupported() -> None:
    assert codes("IG", message="hi") == ["UNSUPPORTED_PLATFORM"]


def test_unknown_media_ids_are_not_found() -> None:
    assert codes(message="hi", media_ids=("med_1",)) == ["NOT_FOUND"]


OWN = ("https://posthaste.example/media/",)


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://posthaste.example/media/Key1/a.jpg", ("Key1", "a.jpg")),
        ("https://posthaste.example/media/Key1/caf%C3%A9.jpg", ("Key1", "café.jpg")),
        ("https://posthaste.example/media/Key1", None),
        ("https://posthaste.example/media/Key1/a/b.jpg", None),
        ("https://posthaste.example/media/../a.jpg", None),
        ("https://posthaste.example/media/Key1/a.jpg?x=1", None),
        ("https://posthaste.example/media/Key1/a.jpg\n", None),
        ("https://posthaste.example.evil.com/media/Key1/a.jpg", None),
        ("http://posthaste.example/media/Key1/a.jpg", None),
    ],
)
def test_an_uploads_own_url_is_known_by_its_base(url: str, found: tuple[str, str] | None) -> None:
    assert own_file(url, OWN) == found


def test_files_behind_media_ids_are_counted_with_the_urls() -> None:
    video = Attached(media_id="med_1", url="u", type="video", mime_type="video/mp4", size_bytes=1)
    content = PostContent(media_ids=("med_1",), media_urls=(PHOTO,))
    [finding] = findings(content, "FB", {}, find=lambda media_ids: [video])
    assert (finding.code, finding.extras["field"]) == ("UNSUPPORTED_PLATFORM", "media_urls")
    [finding] = findings(PostContent(media_ids=("med_1",) * 2), "TW", {}, find=lambda media_ids: [video] * 2)
    assert finding.extras["errors"][0]["field"] == "media_ids"


def test_settings_are_stored_by_name() -> None:
    stored = columns(PostContent(message="hi", facebook_settings={"link": None}, first_comment=""))
    assert stored["settings"] == {"facebook_settings": {"link": None}}
    assert stored["first_comment"] is None
