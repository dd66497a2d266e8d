"""The meaning of Meta's error codes."""

import pytest

from publishing.platforms.base import Refusal
from publishing.platforms.meta.errors import refusal_from, wait_in


@pytest.mark.parametrize(
    ("code", "subcode", "kind"),
    [
        (190, None, "expired"), (190, 460, "expired"), (102, None, "expired"),
        (490, None, "expired"), (100, 490, "expired"), (200, 4854002, "permission"), (100, 4854002, "permission"),
        (2, 1609008, "rejected"), (100, 2207082, "transient"), (352, 2207082, "transient"), (352, 2207077, "transient"),
        (4, None, "rate_limited"), (17, None, "rate_limited"), (32, None, "rate_limited"),
        (341, None, "rate_limited"), (613, None, "rate_limited"), (80001, None, "rate_limited"),
        (80002, None, "rate_limited"), (9, 2207042, "rate_limited"), (368, 1390008, "rate_limited"),
        (3, None, "permission"), (10, None, "permission"), (200, None, "permission"), (299, None, "permission"),
        (100, 33, "permission"), (25, 2207050, "permission"),
        (1, None, "transient"), (2, None, "transient"), (100, 1363047, "transient"), (100, 1609010, "transient"),
        (-2, 2207003, "transient"), (-1, 2207001, "transient"), (24, 2207008, "transient"),
        (9007, 2207027, "transient"), (-2, 2207020, "transient"), (9004, 2207052, "transient"),
        (368, None, "rejected"), (506, None, "rejected"), (100, None, "rejected"), (324, 1366046, "rejected"),
        (4, 2207051, "rejected"), (-1, 2207085, "rejected"), (36003, 2207009, "rejected"), (100, 1366051, "rejected"),
        (999, None, "rejected"), (0, None, "rejected"),
    ],
)  # fmt: skip
def test_a_code_means_what_the_tables_say(code: int, subcode: int | None, kind: str) -> None:
    refusal = refusal_from({"code": code, "error_subcode": subcode, "message": "m"}, {})
    assert refusal.kind == kind
    assert refusal.retryable == (kind in ("rate_limited", "transient"))
    assert refusal.code == (f"{code}/{subcode}" if subcode else str(code))


def test_an_error_that_calls_itself_transient_is_unless_its_subcode_is_known() -> None:
    assert refusal_from({"code": 368, "is_transient": True}, {}).kind is Refusal.TRANSIENT
    assert (
        refusal_from({"code": -1, "error_subcode": 2207085, "is_transient": True}, {}).kind
        is Refusal.REJECTED
    )


def test_the_words_for_people_come_before_the_words_for_programmers() -> None:
    assert refusal_from({"code": 1, "message": "a", "error_user_msg": "b"}, {}).message == "b"
    assert refusal_from({"code": "x"}, {}).message


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "30"}, 30),
        ({"X-Business-Use-Case-Usage": '{"1": [{"estimated_time_to_regain_access": 2}, '
                                       '{"estimated_time_to_regain_access": 5}]}'}, 300),
        ({"X-Business-Use-Case-Usage": '{"1": [{"estimated_time_to_regain_access": 0}]}'}, None),
        ({"X-Business-Use-Case-Usage": "{}"}, None),
        ({"X-Business-Use-Case-Usage": "[1]"}, None),
        ({"X-Business-Use-Case-Usage": '{"1": 1}'}, None),
        ({"X-Business-Use-Case-Usage": "no JSON"}, None),
        ({"Retry-After": "Fri, 20 Nov 2026 11:00:00 GMT"}, None),
    ],
)  # fmt: skip
def test_the_wait_is_read_from_the_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert wait_in(headers) == seconds
    refusal = refusal_from({"code": 32}, headers)
    assert refusal.wait_seconds == (seconds or 3_600)


@pytest.mark.parametrize(
    ("code", "subcode", "seconds"),
    [(4, None, 3_600), (613, None, 3_600), (368, 1390008, 3_600), (9, 2207042, 27_900), (1, None, None)],
)
def test_a_limit_without_a_told_wait_is_waited_out(
    code: int, subcode: int | None, seconds: float | None
) -> None:
    error = {"code": code, "error_subcode": subcode}
    assert refusal_from(error, {}).wait_seconds == seconds
    assert refusal_from(error, {"Retry-After": "30"}).wait_seconds == (seconds and 30)
