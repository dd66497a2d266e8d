"""`service list` names the services that do not answer. GET /readyz does not name them."""

from types import SimpleNamespace
from typing import Any

import pytest

from chassis.bus.pending import unavailable
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.record import Nothing
from contracts.services import SERVICES


@pytest.fixture
def failing(line: Any) -> dict[str, ApiError]:
    """The services that fail, each with its error; all others answer."""
    errors: dict[str, ApiError] = {}

    def start_ping(service: str, _timeout_seconds: float) -> Any:
        def result() -> Nothing:
            if service in errors:
                raise errors[service]
            return Nothing()

        return SimpleNamespace(result=result)

    line.bus.start_ping = start_ping
    return errors


def test_all_services_are_listed_and_answer(line: Any, failing: dict[str, ApiError]) -> None:
    rows = line.json("service", "list")
    assert [row["service"] for row in rows] == list(SERVICES)
    assert {(row["answers"], row["reason"]) for row in rows} == {(True, None)}


def test_one_that_does_not_answer_is_named_with_the_reason(line: Any, failing: dict[str, ApiError]) -> None:
    failing["quota"] = unavailable("quota: no process consumes its calls")
    failing["media"] = ApiError(SERVICE_UNAVAILABLE)
    rows = {row["service"]: row for row in line.json("service", "list", exit_code=1)}
    assert rows["quota"] == {
        "service": "quota", "answers": False, "reason": "quota: no process consumes its calls",
    }  # fmt: skip
    assert rows["media"]["reason"] == SERVICE_UNAVAILABLE.message
    assert rows["accounts"]["answers"] is True
