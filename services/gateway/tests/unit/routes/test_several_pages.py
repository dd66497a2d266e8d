"""A post on several pages in one call: a unit and an operation for each page, one answer, and refunds for pages that
failed.
"""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from contracts import quota
from contracts.errors import NOT_FOUND, SERVICE_UNAVAILABLE, ApiError, invalid
from contracts.publishing import (
    Finding,
    PageResult,
    PageResults,
    PageValidation,
    PageValidations,
    PublishPosts,
    Validation,
)

PUBLISH, SCHEDULE = "/api/v1/posts/publish", "/api/v1/posts/schedule"
PAGES = ["pag_1", "pag_2", "pag_3"]
BODY = {"page_ids": PAGES, "message": "Hello"}
GUARDRAIL = {"error": "no", "code": "PAGE_PUBLISH_GUARDRAIL", "retry_after_seconds": 7}
UNKNOWN = {"error": "?", "code": "PLATFORM_OUTCOME_UNKNOWN", "post_id": "pst_9"}


@pytest.fixture
def outcomes(bus: Any, kit: Any) -> dict[str, dict[str, Any]]:
    """Errors by page id, which the test fills in. Every other page succeeds."""
    errors: dict[str, dict[str, Any]] = {}

    def publish(caller: Any, request: PublishPosts) -> PageResults:
        return PageResults(
            results=tuple(
                PageResult(page_id=page.page_id, status=429, error=errors[page.page_id])
                if page.page_id in errors
                else PageResult(page_id=page.page_id, status=201, post=kit.RESULT)
                for page in request.pages
                if page.goes
            )
        )

    bus.answers["publish_posts"] = publish
    bus.answers["charge_units"] = lambda caller, request: quota.ChargedUnits(
        allowed=(True,) * len(request.units)
    )
    return errors


@pytest.fixture
def usage(bus: Any) -> quota.Usage:
    """The month's counters of an account that has used all its publishes."""
    publishes = quota.BucketUse(used=500, limit=500, remaining=0)
    other = quota.BucketUse(used=0, limit=None, remaining=None)
    found = quota.Usage(
        year_month="2026-11",
        resets_at=datetime(2126, 12, 1, tzinfo=UTC),
        publishes=publishes,
        replies=other,
        reads=other,
        webhooks=other,
        writes=other,
        total_requests=500,
    )
    bus.answers["get_usage"] = found
    return found


def given_back(bus: Any) -> set[str]:
    return {caller.operation_id for caller, _ in bus.asked("refund")}


def test_all_went_201_with_a_result_and_a_unit_each(client, bus, outcomes) -> None:
    answer = client.post(PUBLISH, json=BODY)
    assert answer.status_code == 201
    assert [(row["page_id"], row["status"]) for row in answer.json["results"]] == [(p, 201) for p in PAGES]
    assert {frozenset(row) for row in answer.json["results"]} == {frozenset(("page_id", "status", "post"))}
    [(caller, sent)] = bus.asked("publish_posts")
    operations = [page.operation_id for page in sent.pages]
    assert operations[0] == caller.operation_id
    assert len(set(operations)) == 3
    [(_, units)] = bus.asked("charge_units")
    assert [unit.operation_id for unit in units.units] == operations[1:]
    assert given_back(bus) == set()


def test_some_went_207_with_the_errors_and_their_units_given_back(client, bus, outcomes) -> None:
    outcomes["pag_1"] = GUARDRAIL
    answer = client.post(PUBLISH, json=BODY)
    assert answer.status_code == 207
    error = GUARDRAIL | {"request_id": answer.headers["X-Request-Id"]}
    assert answer.json["results"][0] == {"page_id": "pag_1", "status": 429, "error": error}
    [(caller, _)] = bus.asked("publish_posts")
    assert given_back(bus) == {caller.operation_id}


def test_a_page_whose_outcome_is_unknown_keeps_its_unit(client, bus, outcomes) -> None:
    outcomes["pag_2"] = UNKNOWN
    assert client.post(PUBLISH, json=BODY).status_code == 207
    assert given_back(bus) == set()


def test_none_went_the_first_error_and_every_unit_given_back(client, bus, outcomes) -> None:
    outcomes.update(dict.fromkeys(PAGES, UNKNOWN | {"code": "PLATFORM_REJECTED"}) | {"pag_1": GUARDRAIL})
    answer = client.post(PUBLISH, json=BODY)
    assert (answer.status_code, answer.json["code"]) == (429, "PAGE_PUBLISH_GUARDRAIL")
    assert answer.headers["Retry-After"] == "7"
    [(_, sent)] = bus.asked("publish_posts")
    assert given_back(bus) == {page.operation_id for page in sent.pages}


def test_if_no_page_succeeded_an_unknown_outcome_is_the_error(client, bus, outcomes) -> None:
    outcomes.update(dict.fromkeys(PAGES, GUARDRAIL) | {"pag_3": UNKNOWN})
    answer = client.post(PUBLISH, json=BODY)
    assert (answer.status_code, answer.json["post_id"]) == (502, "pst_9")


def test_pages_without_a_unit_left_are_refused_with_quotas_limit_and_reset(
    client, bus, outcomes, usage
) -> None:
    bus.answers["charge_units"] = quota.ChargedUnits(allowed=(True, False))
    answer = client.post(PUBLISH, json=BODY)
    assert answer.status_code == 207
    error = answer.json["results"][2]["error"]
    assert error["request_id"] == answer.headers["X-Request-Id"]
    assert (error["code"], error["bucket"], error["limit"]) == ("MONTHLY_QUOTA_EXCEEDED", "publishes", 500)
    assert error["resets_at"] == "2126-12-01T00:00:00Z"
    assert error["retry_after_seconds"] > 0
    [(_, sent)] = bus.asked("publish_posts")
    assert [page.goes for page in sent.pages] == [True, True, False]
    assert given_back(bus) == set()


def test_a_quota_that_goes_away_after_charging_costs_only_the_details_of_the_error(
    client, bus, outcomes
) -> None:
    bus.answers["charge_units"] = quota.ChargedUnits(allowed=(True, False))
    bus.answers["get_usage"] = ApiError(SERVICE_UNAVAILABLE)
    answer = client.post(PUBLISH, json=BODY)
    assert [row["status"] for row in answer.json["results"]] == [201, 201, 429]
    assert answer.json["results"][2]["error"]["code"] == "MONTHLY_QUOTA_EXCEEDED"


def test_quota_is_not_asked_for_its_counters_when_every_page_has_a_unit(client, bus, outcomes) -> None:
    assert client.post(PUBLISH, json=BODY).status_code == 201
    assert bus.asked("get_usage") == []


@pytest.mark.parametrize("silent", ["charge_units", "publish_posts"])
def test_units_of_a_call_that_was_not_answered_are_kept_until_its_outcome_is_known(
    client, bus, outcomes, silent
) -> None:
    bus.answers[silent] = ApiError(SERVICE_UNAVAILABLE)
    assert client.post(PUBLISH, json=BODY).status_code == 503
    assert given_back(bus) == set()


@pytest.mark.parametrize("code", ["SERVICE_UNAVAILABLE", "SERVER_ERROR", "POST_IN_PROGRESS"])
def test_a_page_whose_outcome_is_open_keeps_its_unit(client, bus, outcomes, code) -> None:
    outcomes["pag_2"] = UNKNOWN | {"code": code}
    client.post(PUBLISH, json=BODY)
    assert given_back(bus) == set()


def test_a_rule_that_is_broken_on_any_page_gives_back_every_unit(client, bus, outcomes) -> None:
    bus.answers["publish_posts"] = ApiError(NOT_FOUND)
    assert client.post(PUBLISH, json=BODY).status_code == 404
    assert len(given_back(bus)) == 3


def test_scheduling_passes_the_time_on(client, bus, kit) -> None:
    done = PageResult(page_id="pag_1", status=201, scheduled_post=kit.POST)
    bus.answers["schedule_posts"] = PageResults(results=(done,))
    body = {"page_ids": ["pag_1"], "message": "x", "scheduled_at": "2027-01-01T00:00:00Z"}
    answer = client.post(SCHEDULE, json=body)
    assert answer.status_code == 201
    assert answer.json["results"][0]["scheduled_post"]["id"] == kit.POST.id
    assert bus.asked("schedule_posts")[0][1].scheduled_at.year == 2027


@pytest.mark.parametrize(
    "pages",
    [
        {"page_id": "pag_1", "page_ids": PAGES},
        {"page_ids": []},
        {"page_ids": ["pag_1", "pag_1"]},
        {"page_ids": [f"pag_{n}" for n in range(21)]},
        {"page_ids": "pag_1"},
        {"page_ids": [1]},
    ],
)
def test_which_pages_must_be_clear(client, bus, pages) -> None:
    for path in (PUBLISH, SCHEDULE):
        answer = client.post(path, json={"message": "x", "scheduled_at": "2027-01-01T00:00:00Z", **pages})
        assert (answer.status_code, answer.json["code"]) == (400, "VALIDATION_ERROR")
        assert {error["field"].partition("[")[0] for error in answer.json["errors"]} == {"page_ids"}
    assert not bus.asked("publish_posts") + bus.asked("schedule_posts")


def test_a_pages_own_text_and_settings_are_passed_on_with_it(client, bus, outcomes) -> None:
    own = {"page_id": "pag_2", "message": "Hello, you", "settings": {"visibility": "private"}}
    assert client.post(PUBLISH, json=BODY | {"overrides": [own]}).status_code == 201
    first, second, _ = bus.asked("publish_posts")[0][1].pages
    assert (first.message, first.settings) == (msgspec.UNSET, msgspec.UNSET)
    assert (second.message, second.settings) == (own["message"], own["settings"])


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        (
            {"overrides": [{"page_id": "pag_1", "mesage": "x"}]},
            "overrides[0].mesage",
            "did you mean message?",
        ),
        ({"overrides": [{"page_id": "pag_1", "qqq": "x"}]}, "overrides[0].qqq", "message, page_id, settings"),
        ({"overrides": [{"message": "x"}]}, "overrides[0]", "page_id"),
        ({"overrides": [{"page_id": "pag_9"}]}, "overrides[0].page_id", "is not one of page_ids"),
        (
            {"page_ids": None, "page_id": "pag_1", "overrides": [{"page_id": "pag_1"}]},
            "overrides",
            "page_ids",
        ),
        ({"overrides": [{"page_id": "pag_1", "settings": 1}]}, "overrides[0].settings", "object"),
        ({"overrides": [{"page_id": "pag_1"}] * 21}, "overrides", "20"),
    ],
)
def test_overrides_that_cannot_be_meant_are_refused(client, bus, body, field, said) -> None:
    for path in (PUBLISH, SCHEDULE, "/api/v1/posts/validate"):
        answer = client.post(path, json=BODY | {"scheduled_at": "2027-01-01T00:00:00Z"} | body)
        assert (answer.status_code, answer.json["code"]) == (400, "VALIDATION_ERROR")
        [error] = answer.json["errors"]
        assert error["field"] == field
        assert said in error["message"]
    assert not bus.asked("publish_posts") + bus.asked("schedule_posts") + bus.asked("charge_units")


def test_a_rule_broken_by_an_override_is_named_there(client, bus, outcomes) -> None:
    problem = invalid("youtube_settings.visiblity", "is not a setting; did you mean visibility?")
    problem.extras["page_id"] = "pag_2"
    bus.answers["publish_posts"] = problem
    own = {"page_id": "pag_2", "settings": {"visiblity": "private"}}
    answer = client.post(PUBLISH, json=BODY | {"overrides": [own]})
    assert (answer.status_code, answer.json["page_id"]) == (400, "pag_2")
    assert answer.json["errors"][0]["field"] == "overrides[0].settings.visiblity"


def test_a_dry_run_answers_for_every_page_and_takes_no_unit(client, bus) -> None:
    finding = Finding(code="VALIDATION_ERROR", message="message: is too long", field="message")
    bus.answers["validate_posts"] = PageValidations(
        valid=False,
        results=(
            PageValidation(page_id="pag_1", valid=True),
            PageValidation(page_id="pag_2", valid=False, errors=(finding,)),
        ),
    )
    body = {
        "page_ids": PAGES[:2],
        "message": "x",
        "overrides": [{"page_id": "pag_2", "message": "y" * 6_000}],
    }
    answer = client.post("/api/v1/posts/validate", json=body)
    assert (answer.status_code, answer.json["valid"]) == (200, False)
    assert [row["valid"] for row in answer.json["results"]] == [True, False]
    [error] = answer.json["results"][1]["errors"]
    assert (error["field"], error["message"]) == (
        "overrides[0].message",
        "overrides[0].message: is too long",
    )
    assert not bus.asked("charge_units")


@pytest.mark.parametrize("page_id", ["p" * 129, "pag_2\n", ""])
def test_what_is_no_id_of_anything_is_not_found_before_any_unit_is_taken_for_it(client, bus, page_id) -> None:
    answer = client.post(PUBLISH, json=BODY | {"page_ids": ["pag_1", page_id]})
    assert (answer.status_code, answer.json["field"]) == (404, "page_ids")
    assert not bus.asked("charge_units") + bus.asked("publish_posts")


@pytest.mark.parametrize("pages", [{}, {"page_id": None}, {"page_ids": None}])
def test_neither_is_the_missing_page_id(client, pages) -> None:
    answer = client.post(PUBLISH, json={"message": "x" * 6_000, **pages})
    assert (answer.json["code"], answer.json["field"]) == ("MISSING_FIELD", "page_id")


def test_a_single_page_is_sent_as_ever(client, bus, kit) -> None:
    assert (
        client.post(PUBLISH, json={"page_id": "pag_1", "message": "x"}).json["post_id"] == kit.RESULT.post_id
    )
    [(_, sent)] = bus.asked("publish_post")
    assert msgspec.structs.asdict(sent)["page_id"] == "pag_1"
    assert not bus.asked("charge_units")


def test_a_dry_run_names_the_fields_that_are_ignored(client, bus) -> None:
    bus.answers["validate_post"] = Validation(valid=True)
    bus.answers["validate_posts"] = PageValidations(
        valid=True, results=(PageValidation(page_id="pag_1", valid=True),)
    )
    wrong = {"mesage": "x", "qqq": 1}
    one = client.post("/api/v1/posts/validate", json={"page_id": "pag_1", "message": "x"} | wrong).json
    several = client.post("/api/v1/posts/validate", json={"page_ids": ["pag_1"], "message": "x"} | wrong).json
    for found in (one, *several["results"]):
        assert (found["valid"], [row["field"] for row in found["warnings"]]) == (True, ["mesage", "qqq"])
        first, second = (row["message"] for row in found["warnings"])
        assert first == "mesage: is ignored; did you mean message?"
        assert "there are" in second
    many = client.post(
        "/api/v1/posts/validate", json={"page_id": "pag_1"} | {"n" * 999 + str(n): 1 for n in range(99)}
    )
    assert (len(many.json["warnings"]), len(many.data) < 20_000) == (20, True)
