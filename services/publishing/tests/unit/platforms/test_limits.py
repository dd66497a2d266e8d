"""The limits of each platform, checked before anything is sent."""

from typing import Any

import pytest

from publishing.platforms.limits import check_content, comment_length, length


@pytest.mark.parametrize(
    ("platform", "text", "count"),
    [("FB", "日👍", 2), ("TT", "日👍", 3), ("YT", "日👍", 7), ("TW", "日👍", 4), ("LN", "é", 1)],
)
def test_each_platform_counts_in_its_own_unit(platform: str, text: str, count: int) -> None:
    assert length(platform, text) == count


@pytest.mark.parametrize(
    ("platform", "letter", "limit", "media"),
    [
        ("FB", "a", 63_206, []),
        ("IG", "a", 2_200, ["photo"]),
        ("LN", "a", 3_000, []),
        ("TT", "👍", 1_100, ["video"]),
        ("TT", "👍", 2_000, ["photo"]),
        ("TW", "日", 140, []),
        ("YT", "é", 2_500, ["video"]),
    ],
)
def test_a_message_may_be_as_long_as_the_platform_takes_and_no_longer(
    platform: str, letter: str, limit: int, media: list[str]
) -> None:
    assert check_content(platform, letter * limit, media) == []
    [error] = check_content(platform, letter * (limit + 1), media)
    assert error.code == "VALIDATION_ERROR"
    assert error.extras["errors"][0]["field"] == "message"


@pytest.mark.parametrize(
    ("platform", "media"),
    [
        ("FB", []), ("FB", ["photo"] * 10), ("FB", ["video"]), ("IG", ["photo", "video"] * 5), ("IG", ["video"]),
        ("LN", ["photo"] * 20), ("TT", ["video"]), ("TT", ["photo"] * 35), ("TW", ["photo"] * 4), ("TW", ["video"]),
        ("YT", ["video"]), ("YT", [None]), ("FB", ["photo", None]), ("IG", [None] * 10),
    ],
)  # fmt: skip
def test_media_that_the_platform_takes_pass(platform: str, media: list[str | None]) -> None:
    assert check_content(platform, "text", media) == []


@pytest.mark.parametrize(
    ("platform", "media", "code"),
    [
        ("IG", [], "UNSUPPORTED_PLATFORM"), ("TT", [], "UNSUPPORTED_PLATFORM"), ("YT", [], "UNSUPPORTED_PLATFORM"),
        ("YT", ["photo"], "UNSUPPORTED_PLATFORM"), ("FB", ["photo", "video"], "UNSUPPORTED_PLATFORM"),
        ("TW", ["video", "photo"], "UNSUPPORTED_PLATFORM"), ("TT", ["photo", "video"], "UNSUPPORTED_PLATFORM"),
        ("FB", ["photo"] * 11, "VALIDATION_ERROR"), ("FB", ["video"] * 2, "VALIDATION_ERROR"),
        ("TW", ["photo"] * 5, "VALIDATION_ERROR"), ("YT", ["video"] * 2, "VALIDATION_ERROR"),
        ("IG", ["photo", "video"] * 6, "VALIDATION_ERROR"), ("YT", [None] * 2, "VALIDATION_ERROR"),
    ],
)  # fmt: skip
def test_media_that_the_platform_does_not_take_are_found(
    platform: str, media: list[str | None], code: str
) -> None:
    [error] = check_content(platform, "text", media)
    assert error.code == code
    if code == "UNSUPPORTED_PLATFORM":
        assert error.extras["platform"] == platform


def test_instagram_counts_hashtags_and_mentions() -> None:
    assert check_content("IG", "#a " * 30 + "@b " * 20 + "mail@example", ["photo"]) == []
    assert len(check_content("IG", "#a " * 31 + "@b " * 21, ["photo"])) == 2


def test_a_first_comment_has_the_platforms_own_limit() -> None:
    assert check_content("IG", "", ["photo"], "a" * 2_200) == []
    [error] = check_content("IG", "", ["photo"], "a" * 2_201)
    assert error.extras["errors"][0]["field"] == "first_comment"


@pytest.mark.parametrize(
    ("platform", "media", "settings", "field"),
    [
        ("FB", [], {"link": 7}, "link"),
        ("FB", [], {"link": "javascript:alert(1)"}, "link"),
        ("FB", [], {"link": "http://127.0.0.1/"}, "link"),
        ("FB", ["photo"], {"link": "https://example.com/"}, "link"),
        ("IG", ["video"], {"share_to_feed": "yes"}, "share_to_feed"),
        ("IG", ["video"], {"thumb_offset": -1}, "thumb_offset"),
        ("IG", ["video"], {"thumb_offset": True}, "thumb_offset"),
        ("IG", ["video"], {"cover_url": "file:///etc/passwd"}, "cover_url"),
        ("IG", ["photo"], {"alt_text": ["x"]}, "alt_text"),
    ],
)
def test_settings_that_would_be_handed_on_are_checked(
    platform: str, media: list[str], settings: dict[str, object], field: str
) -> None:
    [error] = check_content(platform, "text", media, settings=settings)
    assert error.extras["errors"][0]["field"].endswith(f"_settings.{field}")


def test_an_unknown_setting_is_refused_with_the_one_that_was_probably_meant() -> None:
    def complaint(platform: str, settings: dict[str, Any]) -> dict[str, str]:
        [error] = check_content(platform, "text", ["video"], settings=settings)
        found: dict[str, str] = error.extras["errors"][0]
        return found

    assert complaint("LN", {"visiblity": "CONNECTIONS"}) == {
        "field": "linkedin_settings.visiblity",
        "message": "is not a setting; did you mean visibility?",
    }
    assert complaint("FB", {"colour": 7}) == {
        "field": "facebook_settings.colour",
        "message": "is not a setting; there are link, is_ai_generated",
    }
    assert complaint("TT", {"privacy_levl": "SELF_ONLY"})["message"].endswith("did you mean privacy_level?")


def test_an_unknown_part_of_an_article_is_refused() -> None:
    article = {"source": "https://example.com/", "title": "t", "descripton": "d"}
    [error] = check_content("LN", "text", [], settings={"article": article})
    assert error.extras["errors"][0]["field"] == "linkedin_settings.article.descripton"


def test_good_settings_pass_and_tiktoks_are_open() -> None:
    assert check_content("FB", "text", [], settings={"link": "https://example.com/a"}) == []
    good = {
        "share_to_feed": False,
        "thumb_offset": 0,
        "cover_url": "https://example.com/c.jpg",
        "alt_text": "x",
    }
    assert check_content("IG", "text", ["video"], settings=good) == []
    assert check_content("TT", "text", ["video"], settings={"link": 7}) == []


def test_a_reply_on_x_counts_as_a_post_there_and_a_comment_elsewhere_as_it_is_written() -> None:
    text = "https://example.com/" + "a" * 300
    assert comment_length("TW", text) == 23
    assert comment_length("LN", "#one (two)") == len("#one (two)")
