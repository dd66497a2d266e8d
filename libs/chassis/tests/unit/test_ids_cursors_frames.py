"""Identifiers, cursors, settings, and the wire format of calls."""

from datetime import UTC, datetime
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chassis import config
from chassis.bus import frames
from chassis.cursor import decode_cursor, decode_position, encode_cursor, encode_position, one_page
from chassis.ids import new_id
from contracts.errors import ERRORS, PAGE_PUBLISH_GUARDRAIL, ApiError
from contracts.services import SERVICES


def test_ids_carry_their_type_and_never_repeat():
    made = [new_id("pst") for _ in range(5000)]
    assert len(set(made)) == 5000
    assert all(one.startswith("pst_") and len(one) == 30 for one in made)


def test_ids_made_later_sort_later(monkeypatch):
    monkeypatch.setattr("chassis.ids.time.time_ns", lambda: 1_700_000_000_000_000_000)
    earlier = new_id("pst")
    monkeypatch.setattr("chassis.ids.time.time_ns", lambda: 1_700_000_000_001_000_000)
    assert earlier < new_id("pst")


def test_ids_of_one_millisecond_sort_as_they_were_made(monkeypatch):
    monkeypatch.setattr("chassis.ids.time.time_ns", lambda: 1_700_000_000_002_000_000)
    made = [new_id("pst") for _ in range(1000)]
    assert made == sorted(made)
    assert {one[:14] for one in made} == {made[0][:14]}  # the millisecond


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_a_cursor_comes_back_as_it_was_made(key):
    assert decode_cursor(encode_cursor(*key), len(key)) == tuple(key)


@given(st.text(max_size=60))
def test_a_made_up_cursor_is_refused_and_never_breaks(text):
    try:
        assert len(decode_cursor(text, 2)) == 2
    except ApiError as error:
        assert error.code == "VALIDATION_ERROR"


def test_a_position_comes_back_as_it_was():
    at = datetime(2026, 3, 29, 1, 0, 0, 123000, UTC)
    assert decode_position(encode_position(at, "pst_1")) == (at, "pst_1")
    assert decode_position(None) is None


def test_a_page_ends_with_a_cursor_only_if_more_rows_were_found():
    rows = [
        SimpleNamespace(created_at=datetime(2026, 3, 9, 12, minute, tzinfo=UTC), id=f"pst_{minute}")
        for minute in (3, 2, 1)
    ]
    page, cursor = one_page(rows, 2)
    assert page == tuple(rows[:2])
    assert decode_position(cursor) == (rows[1].created_at, "pst_2")
    assert one_page(rows, 3) == (tuple(rows), None)
    assert one_page([], 3) == ((), None)


@pytest.mark.parametrize(
    ("stamp", "row_id"),
    [
        ("2026-01-01T00:00:00", "pst_1"),
        ("2026-01-01T00:00:00+23:59", "pst_1"),
        ("2026-01-01T00:00:00+00:00:30.5", "pst_1"),
        ("yesterday", "pst_1"),
        ("2026-01-01T00:00:00+00:00", ""),
        ("2026-01-01T00:00:00+00:00", "pst_\0"),
        ("2026-01-01T00:00:00+00:00", "é"),
        ("2026-01-01T00:00:00+00:00", "p" * 65),
    ],
)
def test_a_position_no_database_can_be_asked_for_is_refused(stamp, row_id):
    with pytest.raises(ApiError) as caught:
        decode_position(encode_cursor(stamp, row_id))
    assert caught.value.code == "VALIDATION_ERROR"


def test_a_refusal_crosses_the_bus_whole():
    error = ApiError(PAGE_PUBLISH_GUARDRAIL, "Wait.", retry_after_seconds=30)
    failure = msgspec.json.decode(msgspec.json.encode(frames.failure_of(error)), type=frames.Failure)
    again = frames.error_of(failure)
    assert (again.row, again.message, again.extras) == (
        PAGE_PUBLISH_GUARDRAIL,
        "Wait.",
        {"retry_after_seconds": 30},
    )


def test_a_code_of_a_newer_release_becomes_a_server_error_with_its_message():
    assert "INVENTED_LATER" not in ERRORS
    assert frames.error_of(frames.Failure("INVENTED_LATER", "New.")).code == "SERVER_ERROR"


@pytest.mark.parametrize("api", SERVICES.values(), ids=SERVICES.keys())
def test_every_method_of_a_surface_takes_a_request_and_gives_a_result(api):
    methods = frames.methods_of(api)
    assert methods
    assert all(
        issubclass(m.request, msgspec.Struct) and issubclass(m.result, msgspec.Struct)
        for m in methods.values()
    )


def test_a_setting_that_is_missing_or_malformed_is_named(monkeypatch):
    monkeypatch.delenv("SOME_PORT", raising=False)
    with pytest.raises(config.ConfigError, match="SOME_PORT is not set"):
        config.integer("SOME_PORT")
    monkeypatch.setenv("SOME_PORT", "eighty")
    with pytest.raises(config.ConfigError, match="SOME_PORT must be a whole number"):
        config.integer("SOME_PORT")
    with pytest.raises(config.ConfigError, match="SOME_PORT must be key=value"):
        config.mapping("SOME_PORT")


def test_a_database_url_of_another_database_is_refused():
    assert config.database_url("postgres://x/y") == "postgresql+psycopg2://x/y"
    with pytest.raises(config.ConfigError):
        config.database_url("mysql://x/y")
