"""The texts of the pages."""

import re
from datetime import UTC, datetime
from html import unescape
from typing import Any

import pytest

from dashboard import words
from dashboard.routes.developers import indented
from posthaste.errors import InvalidRequest
from posthaste.records import AuditEntry, MediaItem


@pytest.mark.parametrize(
    ("field", "message", "shown"),
    [
        ("message", "message: X takes at most 280", "X takes at most 280"),
        (None, "The token is revoked.", "The token is revoked."),
        ("instagram_settings.thumb_offset", "Expected `int | null`, got `str`", "Enter a whole number."),
        ("instagram_settings.thumb_offset", "Expected `int` >= 0", "Enter 0 or more."),
        ("tiktok_settings.photo_cover_index", "Expected `int` <= 34", "Enter 34 or less."),
        ("youtube_settings.title", "Expected `str` of length <= 100", "Enter at most 100 characters."),
        ("linkedin_settings.alt_texts", "Expected `array` of length <= 20", "Enter at most 20 lines."),
        (
            "x",
            r"Expected `str` matching regex '^[^<>]*[^<>\\s][^<>]*$' - at `$[1]`",
            "Write something, without < and >.",
        ),
        ("x", r"Expected `str` matching regex '^\\d{1,4}$'", "The platform does not take this value."),
    ],
)
def test_a_message_names_no_field_and_says_plainly_what_does_not_fit(
    field: str | None, message: str, shown: str
) -> None:
    assert words.plainly(field, message) == shown


def entry(action: str, subject_email: str | None = None, **details: Any) -> AuditEntry:
    return AuditEntry(
        id="aud_1", brand_id="brd_1", actor_id="usr_1", action=action, subject_id="x", created_at=datetime.now(UTC),
        details=details, subject_email=subject_email,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("noted", "shown"),
    [
        (entry("collaborator.set", "sam@x.test", role="full"), "gave sam@x.test full access to the brand"),
        (entry("collaborator.set", role="full"), "gave somebody full access to the brand"),
        (entry("token.created", "sam@x.test", name="CI", issued_by="usr_1"), "created the token “CI”"),
        (entry("token.revoked", "sam@x.test", name="CI", issued_by="usr_2"), "revoked the token “CI” of sam@x.test"),
        (entry("posts.held", "sam@x.test", count=2, post_ids=["a", "b"]), "held 2 posts of sam@x.test"),
        (entry("webhooks.disabled", "sam@x.test", webhook_ids=["a"]), "disabled 1 webhook of sam@x.test"),
        (entry("post.brought_due", page_id="pag_1"), "sent a post on <Bakery> before its scheduled time"),
        (entry("something.new"), "did: something.new"),
    ],
    ids=lambda it: it.action if isinstance(it, AuditEntry) else "",
)  # fmt: skip
def test_an_entry_of_the_audit_log_is_a_sentence(noted: AuditEntry, shown: str) -> None:
    markup = words.audited(noted, lambda page_id: "<Bakery>")
    assert "<Bakery>" not in markup
    assert unescape(re.sub("</?bdi>", "", markup)) == shown


def test_an_operators_reason_is_shown_as_written_and_a_reason_of_posthaste_in_words() -> None:
    assert words.cause(entry("post.brought_due", page_id="pag_1", reason="Ada asked")) == "Reason: Ada asked"
    assert words.cause(entry("post.brought_due", page_id="pag_1")) == ""
    assert words.cause(entry("posts.held", reason="token_revoked")) == "The token that made them was revoked."


def test_an_error_of_several_fields_says_all() -> None:
    body = {
        "code": "VALIDATION_ERROR",
        "error": "x",
        "errors": [{"field": "a", "message": "a: one."}, {"field": "b", "message": "two."}],
    }
    assert words.said(InvalidRequest(400, body)) == "one. two."


def test_the_code_of_a_platforms_error_is_named() -> None:
    assert words.with_code("Please retry later. (2)") == "Please retry later. (error 2)"
    assert words.with_code("No code (here) at all.") == "No code (here) at all."


def test_json_is_indented_and_other_text_stays_as_it_is() -> None:
    assert indented('{"event":"post.published","data":{"name":"Bäckerei"}}') == (
        '{\n  "event": "post.published",\n  "data": {\n    "name": "Bäckerei"\n  }\n}'
    )
    assert indented("no {JSON") == "no {JSON"


def test_figures_read_well() -> None:
    assert [words.count(it, "post", "posts") for it in (0, 1, 2000)] == ["0 posts", "1 post", "2,000 posts"]
    assert [words.size(it) for it in (1, 12, 31_514, 298_000, 2**20, 5 * 2**30)] == [
        *("1 byte", "12 bytes", "30.8 kB", "291 kB", "1 MB", "5 GB"),
    ]
    assert [words.took(it) for it in (0.055, 1.234, 130)] == ["55\xa0ms", "1.23\xa0s", "130\xa0s"]
    fields = (
        "media_ids[0]",
        "first_comment",
        "youtube_settings.made_for_kids",
        "youtube_settings",
        "x",
        None,
    )
    assert [words.field_name(it) for it in fields] == [
        *("Photos and videos", "First comment", "Made for kids", "", "", ""),
    ]


@pytest.mark.parametrize(
    ("field", "place"),
    [
        ("overrides[0].message", "message"),
        ("media_urls[2]", "media"),
        ("scheduled_at", "time"),
        ("facebook_settings.link", "settings"),
        (None, ""),
    ],
)
def test_a_finding_has_its_place_below_a_field_of_the_composer(field: str | None, place: str) -> None:
    assert words.beside(field) == place


def test_what_to_do_and_what_came_of_an_attempt_name_the_platform() -> None:
    assert "Look at the page on X." in words.advice("PLATFORM_OUTCOME_UNKNOWN", "TW", "")
    assert words.advice("PAGE_RATE_LIMITED", "TW", "Wait for `retry_after`.") == "Wait for retry_after."
    assert words.outcome("refused", "LN") == "LinkedIn refused the post."


def test_what_a_post_has_attached_is_counted_by_kind() -> None:
    photo, video = MediaItem(src="a", type="photo"), MediaItem(src="b", type="video")
    assert [words.files(it) for it in ([], [photo], [photo, video, photo])] == [
        "",
        "1 photo",
        "2 photos, 1 video",
    ]


def test_a_post_that_its_platform_did_not_let_in_is_told_from_one_that_it_did_not_like() -> None:
    assert words.is_about_access("PAGE_EXPIRED", "Reconnect the page.")
    assert words.is_about_access("PLATFORM_REJECTED", "You are not permitted to do this. (403)")
    assert not words.is_about_access("PLATFORM_REJECTED", "A duplicate of (403) (duplicate)")
    assert not words.is_about_access("PLATFORM_REJECTED", "The image is too small. (400)")


def test_a_post_is_tried_again_unseen_only_after_an_error_that_passes() -> None:
    assert words.is_passing("PAGE_EXPIRED")
    assert not words.is_passing("PLATFORM_OUTCOME_UNKNOWN")
    assert not words.is_passing("PLATFORM_REJECTED")


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/131.0 Safari/537.36", "Chrome on Linux"),
        (
            "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/131.0 Safari/537.36 Edg/131.0",
            "Edge on Windows",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) Version/18.1 Safari/604.1",
            "Safari on iPhone",
        ),
        ("posthaste-python/1.3.0", "posthaste-python/1.3.0"),
        ("", "Unknown browser"),
    ],
)
def test_a_browser_has_the_name_that_people_use(user_agent: str, name: str) -> None:
    assert words.browser_name(user_agent) == name
