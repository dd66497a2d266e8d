"""The field rules of a post."""

import pytest

from contracts.publishing import PostContent
from publishing.content import columns, findings

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
    assert codes("LN", message="hi", first_comment="first") == ["VALIDATION_ERROR"]
    assert codes("FB", message="hi", tiktok_settings={}) == ["VALIDATION_ERROR"]
    assert codes("TW", message="hi", x_settings={}) == []


def test_text_alone_on_a_platform_of_pictures_is_unsupported() -> None:
    assert codes("IG", message="hi") == ["UNSUPPORTED_PLATFORM"]


def test_unknown_media_ids_are_not_found() -> None:
    assert codes(message="hi", media_ids=("med_1",)) == ["NOT_FOUND"]


def test_settings_are_stored_by_name() -> None:
    stored = columns(PostContent(message="hi", facebook_settings={"link": None}, first_comment=""))
    assert stored["settings"] == {"facebook_settings": {"link": None}}
    assert stored["first_comment"] is None
