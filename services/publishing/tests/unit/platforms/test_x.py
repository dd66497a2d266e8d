"""How X counts characters, and what its answers say about the outcome, even broken ones."""

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import testkit
from publishing.platforms.base import OutcomeUnknown, PlatformRefusal, Refusal
from publishing.platforms.http_client import Response
from publishing.platforms.limits import check_content
from publishing.platforms.x.calls import body_of
from publishing.platforms.x.errors import wait_in
from publishing.platforms.x.text import is_same, shown_text, weighted_length

PROBLEMS = "https://api.x.com/2/problems/"
DUPLICATE = "You are not allowed to create a Tweet with duplicate content."
RESTRICTED = "You can only reply to or quote posts where you are mentioned or are the author."


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("", 0),
        ("hello", 5),
        ("é", 1),
        ("e\u0301", 1),
        ("日本語", 6),
        ("한글", 4),
        ("“quoted” – …", 13),
        ("👍", 2),
        ("👍🏽", 2),
        ("👨‍👩‍👧‍👦", 2),
        ("🇩🇪", 2),
        ("❤️", 2),
        ("1️⃣", 2),
        ("1", 1),
        ("©", 1),
        ("©️ ‼️ ™️", 8),
        ("🏴󠁧󠁢󠁳󠁣󠁴󠁿", 2),
        ("😀🏽", 2),
        ("🧑‍🚀", 2),
    ],
)
def test_x_counts_weights(text: str, weight: int) -> None:
    assert weighted_length(text) == weight


#: What twitter-text gives for them: texts of its conformance suite, and others.
LENGTHS = json.loads(Path(testkit.__path__[0], "x_text_lengths.json").read_text())


def test_every_text_has_the_length_that_twitter_text_gives_it() -> None:
    assert len(LENGTHS) > 700
    assert {text: weighted_length(text) for text in LENGTHS} == LENGTHS


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("see https://example.com.", 28),
        ("(http://example.com)", 25),
        ("https://example.com, then", 29),
        ("example.de", 23),
        ("README.md", 23),
        ("日本example.comです", 31),
        ("$TSLA.com", 9),
        ("mail@example.com", 16),
        ("main.py v2.0.1", 30),
        ("example.com/a?b=c", 23),
        ("example.com?b=c", 27),
        ("http://" + "a" * 64 + ".com", 75),
    ],
)
def test_a_link_counts_as_a_short_one_and_ends_where_x_ends_it(text: str, weight: int) -> None:
    assert weighted_length(text) == weight


@given(st.text(alphabet=st.characters(max_codepoint=0x10FF, exclude_categories=("Mn", "Cs")), max_size=300))
def test_plain_letters_count_one_each_and_nothing_counts_more_than_two(text: str) -> None:
    letters = (letter for letter in text if letter.isalpha() or letter == " ")
    plain = unicodedata.normalize("NFC", "".join(letters))
    assert weighted_length(plain) <= len(plain)
    assert weighted_length("日" + plain) == weighted_length(plain) + 2


@pytest.mark.parametrize(
    ("text", "urls", "shown"),
    [
        ("a &amp; b &lt;3", [], "a & b <3"),
        ("see https://t.co/1", [{"url": "https://t.co/1", "expanded_url": "https://a.example/x"}],
         "see https://a.example/x"),
        ("hi https://t.co/2", [{"url": "https://t.co/2", "expanded_url": "https://x.com/1", "media_key": "3_1"}],
         "hi"),
    ],
)  # fmt: skip
def test_a_post_is_read_as_people_see_it(text: str, urls: list[Any], shown: str) -> None:
    assert shown_text({"text": text, "entities": {"urls": urls}}) == shown


def test_a_text_is_known_again_however_x_writes_its_links_and_mentions() -> None:
    post = {"text": "@a @b Read https://t.co/1 now",
            "entities": {"urls": [{"url": "https://t.co/1", "expanded_url": "http://example.com"}]}}  # fmt: skip
    assert is_same("Read example.com now", post)
    assert is_same("@a Read https://example.com/ now", post)
    assert not is_same("Read example.org now", post)
    assert not is_same("", post)


def reply(status: int, body: Any, **headers: str) -> Response:
    return Response(status, {name.replace("_", "-"): value for name, value in headers.items()}, body)


def problem(status: int, detail: str, name: str | None = None) -> Response:
    kind = PROBLEMS + name if name else "about:blank"
    return reply(status, {"title": "T", "detail": detail, "type": kind, "status": status})


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        (problem(401, "Unauthorized"), Refusal.EXPIRED, "401"),
        (problem(402, "credits depleted", "credits-depleted"), Refusal.PERMISSION, "credits-depleted"),
        (problem(403, "credits depleted", "credits-depleted"), Refusal.PERMISSION, "credits-depleted"),
        (problem(403, DUPLICATE), Refusal.REJECTED, "duplicate"),
        (problem(403, RESTRICTED), Refusal.REJECTED, "reply-restricted"),
        (problem(403, "Something else."), Refusal.REJECTED, "403"),
        (problem(403, "Not for you", "client-forbidden"), Refusal.PERMISSION, "client-forbidden"),
        (problem(429, "Too Many Requests"), Refusal.RATE_LIMITED, "429"),
        (problem(429, "Monthly", "usage-capped"), Refusal.RATE_LIMITED, "usage-capped"),
        (problem(400, "Bad", "invalid-request"), Refusal.REJECTED, "invalid-request"),
        (reply(429, None), Refusal.RATE_LIMITED, "HTTP_429"),
        (reply(403, {"errors": [{"message": "no", "code": 453}]}), Refusal.REJECTED, "403"),
    ],
)  # fmt: skip
def test_a_refused_post_says_what_kind_it_is(answer: Response, kind: Refusal, code: str) -> None:
    with pytest.raises(PlatformRefusal) as refusal:
        body_of(answer, visible=True)
    assert (refusal.value.kind, refusal.value.code) == (kind, code)


@pytest.mark.parametrize(
    "answer",
    [
        problem(503, "Service Unavailable"), problem(500, "Unauthorized"), reply(502, None), reply(200, None),
        reply(200, {"errors": [{"title": "odd"}]}), reply(302, None), reply(401, None), reply(403, "a"), reply(201, []),
    ],
)  # fmt: skip
def test_a_post_without_a_clear_answer_is_unknown(answer: Response) -> None:
    with pytest.raises(OutcomeUnknown):
        body_of(answer, visible=True)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (problem(503, "Service Unavailable"), Refusal.TRANSIENT),
        (problem(500, "Unauthorized"), Refusal.TRANSIENT),
        (reply(401, None), Refusal.TRANSIENT),
        (reply(404, None), Refusal.TRANSIENT),
        (problem(403, "Forbidden"), Refusal.PERMISSION),
        (reply(200, {"errors": [{"title": "Not Found Error", "type": f"{PROBLEMS}resource-not-found"}]}),
         Refusal.REJECTED),
    ],
)  # fmt: skip
def test_a_read_that_failed_never_cuts_a_page_off(answer: Response, kind: Refusal) -> None:
    with pytest.raises(PlatformRefusal) as refusal:
        body_of(answer, visible=False)
    assert refusal.value.kind is kind


def test_partial_errors_beside_data_are_no_failure() -> None:
    body = {"data": {"id": "1"}, "errors": [{"title": "Not Found Error"}]}
    assert body_of(reply(200, body), visible=True) is body
    assert body_of(reply(200, {"meta": {"result_count": 0}}), visible=False) == {"meta": {"result_count": 0}}


def test_the_wait_is_until_the_last_used_up_window_ends_by_xs_own_clock() -> None:
    now = {"Date": "Fri, 20 Nov 2026 12:00:00 GMT"}
    start = 1_795_176_000
    assert wait_in({**now, "x-rate-limit-remaining": "0", "x-rate-limit-reset": f"{start + 90}"}) == 90
    day = {"x-user-limit-24hour-remaining": "0", "x-user-limit-24hour-reset": f"{start + 7_200}"}
    assert (
        wait_in({**now, **day, "x-rate-limit-remaining": "9", "x-rate-limit-reset": f"{start + 90}"}) == 7_200
    )
    assert wait_in({**now, "x-rate-limit-reset": f"{start - 5}"}) == 1
    assert wait_in({"Retry-After": "7"}) == 7
    assert wait_in({**now, "x-rate-limit-reset": "soon"}) is None


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"reply_settings": "nobody"}, "reply_settings"),
        ({"alt_texts": "a"}, "alt_texts"),
        ({"alt_texts": ["a"] * 5}, "alt_texts"),
        ({"alt_texts": ["a" * 1_001]}, "alt_texts"),
        ({"made_with_ai": "yes"}, "made_with_ai"),
        ({"paid_partnership": 1}, "paid_partnership"),
    ],
)
def test_settings_that_x_would_not_take_are_found(settings: dict[str, Any], field: str) -> None:
    [error] = check_content("TW", "text", ["photo"], settings=settings)
    assert error.extras["errors"][0]["field"] == f"x_settings.{field}"


def test_good_and_empty_settings_pass() -> None:
    settings = {"reply_settings": "verified", "alt_texts": ["a", ""]}
    assert check_content("TW", "text", ["photo"], settings=settings) == []
    assert check_content("TW", "text", ["photo"], settings={"alt_texts": None}) == []


def test_a_long_post_is_for_accounts_with_premium() -> None:
    assert check_content("TW", "a" * 4_000, [], settings={"is_premium": True}) == []
    [error] = check_content("TW", "a" * 4_000, [], settings={"is_premium": False})
    assert "at most 280" in error.extras["errors"][0]["message"]
    assert check_content("TW", "a" * 4_000, [], account_limit=25_000) == []
    [error] = check_content("TW", "日" * 12_501, [], settings={"is_premium": True})
    assert "at most 25000" in error.extras["errors"][0]["message"]


def test_a_long_post_is_known_again_by_its_whole_text() -> None:
    words = "word " * 100 + "https://example.com"
    note = {"text": "word " * 100 + "https://t.co/1", "entities": {"urls": [
        {"url": "https://t.co/1", "expanded_url": "https://example.com"}]}}  # fmt: skip
    assert is_same(words, {"text": words[:250] + "…", "note_tweet": note})
    assert is_same(words, {"text": words[:250] + "…", "note_post": note})
