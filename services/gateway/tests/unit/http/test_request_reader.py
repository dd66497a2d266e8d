"""Path, query and body become a record. Each mistake in them gets its documented error."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.errors import ApiError
from contracts.publishing import EditPost, ListComments, ListPages, SchedulePost
from gateway.http.request_reader import Reader

SCHEDULE = Reader(SchedulePost, frozenset(), takes_body=True)
EDIT = Reader(EditPost, frozenset({"id"}), takes_body=True)
PAGES = Reader(ListPages, frozenset(), takes_body=False)
COMMENTS = Reader(ListComments, frozenset(), takes_body=False)
GOOD = {"page_id": "pag_1", "scheduled_at": "2026-12-01T09:00:00Z", "message": "Hello"}


def read(**changes: Any) -> Any:
    return SCHEDULE.read({}, "", json.dumps(GOOD | changes).encode())


def refusal(
    reader: Reader, *, query: str = "", body: bytes = b"", path: dict[str, str] | None = None
) -> ApiError:
    with pytest.raises(ApiError) as caught:
        reader.read(path or {}, query, body)
    return caught.value


def body_refusal(**changes: Any) -> ApiError:
    return refusal(SCHEDULE, body=json.dumps(GOOD | changes).encode())


def test_reads_a_body_and_ignores_what_it_does_not_know() -> None:
    request = read(colour="red")
    assert request == SchedulePost(
        page_id="pag_1", scheduled_at=datetime(2026, 12, 1, 9, tzinfo=UTC), message="Hello"
    )


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b'"text"', b"\xff\xfe", b'{"page_id": NaN}', b'\xef\xbb\xbf{"page_id": "x"}',
        b"[" * 100_000, b'{"a":' * 100_000, b'{"a": "\x01"}',
    ],
)  # fmt: skip
def test_refuses_what_is_no_json_object(body: bytes) -> None:
    assert refusal(SCHEDULE, body=body).code == "INVALID_JSON"


@pytest.mark.parametrize(
    "body", [{}, {"page_id": None}, {"scheduled_at": "2026-12-01T09:00:00Z", "message": 1}]
)
def test_names_the_first_missing_or_null_field_before_other_faults(body: dict[str, Any]) -> None:
    error = refusal(SCHEDULE, body=json.dumps(body).encode())
    assert (error.code, error.extras["field"]) == ("MISSING_FIELD", "page_id")


@pytest.mark.parametrize(
    "text",
    [
        "2026-12-01T09:00:00", "2026-12-01", "tomorrow", "", 1764579600, True, {}, "2026-13-01T09:00:00Z",
        "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "2026-12-01T09:00:00Z\x00",
    ],
)  # fmt: skip
def test_refuses_timestamps_that_are_malformed_or_have_no_zone(text: Any) -> None:
    error = body_refusal(scheduled_at=text)
    assert (error.code, error.extras["field"]) == ("INVALID_DATE", "scheduled_at")


@pytest.mark.parametrize(
    ("text", "year"), [("0001-01-01T00:00:00+14:00", 1901), ("9999-12-31T23:59:59-14:00", 8999)]
)
def test_a_far_time_counts_as_the_nearest_that_can_be_computed_with(text: str, year: int) -> None:
    assert read(scheduled_at=text).scheduled_at.year == year


def test_takes_any_offset_any_year_we_may_see_and_whole_milliseconds() -> None:
    assert read(scheduled_at="2040-02-29T01:30:00.1239+05:30").scheduled_at == datetime(
        2040, 2, 28, 20, 0, 0, 123_000, tzinfo=UTC
    )


def test_lists_every_broken_field() -> None:
    error = body_refusal(
        message="x" * 5_001, media_ids="med_1", media_urls=["http://a", 5], tiktok_settings=[]
    )
    assert error.code == "VALIDATION_ERROR"
    fields = [entry["field"] for entry in error.extras["errors"]]
    assert fields == ["message", "media_ids", "media_urls[1]", "tiktok_settings"]


@pytest.mark.parametrize("text", ["a\x00b", "\ud800", "x\udfff"])
def test_refuses_nul_and_lone_surrogates_wherever_they_hide(text: str) -> None:
    for field, value in (
        ("message", text),
        ("page_id", text),
        ("media_urls", [text]),
        ("tiktok_settings", {"a": {text: 1}}),
        ("tiktok_settings", {"a": [{"b": text}]}),
    ):
        error = body_refusal(**{field: value})
        assert (error.code, error.extras["errors"][0]["field"]) == ("VALIDATION_ERROR", field)


def test_a_flaw_in_an_unknown_field_does_no_harm() -> None:
    assert read(colour="\ud800").page_id == "pag_1"


@pytest.mark.parametrize("value", [10**30, -(10**30), 1.5, json.loads("[" * 20 + "]" * 20)])
def test_settings_hold_only_what_the_bus_can_carry(value: Any) -> None:
    settings = {"value": value}
    if value == 1.5:
        assert read(tiktok_settings=settings).tiktok_settings == settings
    else:
        assert body_refusal(tiktok_settings=settings).extras["errors"][0]["field"] == "tiktok_settings"


def test_a_request_too_large_for_the_bus_is_refused() -> None:
    error = body_refusal(media_urls=["https://example.com/picture.jpg"] * 10_000)
    assert (error.code, error.extras["errors"][0]["field"]) == ("VALIDATION_ERROR", "body")


def test_a_patch_tells_absent_from_null_and_takes_its_id_from_the_path() -> None:
    request = EDIT.read({"id": "pst_1"}, "", b'{"message": null, "id": "pst_2"}')
    assert request == EditPost(id="pst_1", message=None)


@pytest.mark.parametrize("path_id", ["a/b", "a b", "\x00", "é", "x" * 129, "pst_1\n", "%2e", ""])
def test_a_strange_id_in_the_path_is_nothing_we_have(path_id: str) -> None:
    assert refusal(EDIT, path={"id": path_id}, body=b"{}").code == "NOT_FOUND"


def test_reads_a_query() -> None:
    assert PAGES.read({}, "limit=7&platform=fb&sort=name&sort=id", b"") == ListPages(limit=7, platform="fb")
    assert PAGES.read({}, "", b"") == ListPages()


def test_an_empty_cursor_is_no_cursor() -> None:
    assert PAGES.read({}, "cursor=&limit=7", b"") == ListPages(limit=7)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"), ("limit=101", "limit"), ("limit=-1", "limit"), ("limit=ten", "limit"),
        ("limit=", "limit"), ("limit=5.0", "limit"), ("limit=1e1", "limit"), ("limit=9999999999999999999", "limit"),
        ("limit=5&limit=5", "limit"), ("cursor=%00", "cursor"), ("cursor=%ff", "cursor"), ("cursor=\xff", "cursor"),
    ],
)  # fmt: skip
def test_refuses_a_query_that_breaks_a_rule(query: str, field: str) -> None:
    error = refusal(PAGES, query=query)
    assert (error.code, error.extras["errors"][0]["field"]) == ("VALIDATION_ERROR", field)


def test_a_required_query_parameter_that_is_absent_is_a_missing_field() -> None:
    error = refusal(COMMENTS, query="limit=5")
    assert (error.code, error.extras["field"]) == ("MISSING_FIELD", "post_id")


def test_a_plus_sign_that_became_a_space_is_understood() -> None:
    request = COMMENTS.read({}, "post_id=pst_1&since=2026-01-01T02:00:00+02:00", b"")
    assert request.since == datetime(2026, 1, 1, tzinfo=UTC)


def test_a_time_without_a_zone_in_a_query_is_refused() -> None:
    assert refusal(COMMENTS, query="post_id=pst_1&since=2026-01-01T02:00:00").code == "INVALID_DATE"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(
    st.dictionaries(
        st.sampled_from(["page_id", "scheduled_at", "message", "media_ids", "tiktok_settings"]), json_values
    )
)
def test_whatever_a_body_holds_the_answer_is_a_request_or_a_documented_error(values: dict[str, Any]) -> None:
    body = json.dumps(values).encode("utf-8", "surrogatepass")
    try:
        assert isinstance(SCHEDULE.read({}, "", body), SchedulePost)
    except ApiError as error:
        assert error.code in {"INVALID_JSON", "MISSING_FIELD", "INVALID_DATE", "VALIDATION_ERROR"}


@given(st.text(st.characters(max_codepoint=255)))
def test_whatever_a_query_holds_the_answer_is_a_request_or_a_documented_error(query: str) -> None:
    try:
        assert isinstance(PAGES.read({}, query, b""), ListPages)
    except ApiError as error:
        assert error.code == "VALIDATION_ERROR"
