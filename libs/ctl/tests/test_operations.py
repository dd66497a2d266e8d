"""A command whose answer was lost repeats the call as the same operation. The operator can also run the command again
as the same operation.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from contracts.accounts import CreatedToken, Token
from contracts.errors import NOT_FOUND, SERVICE_UNAVAILABLE, TOKEN_REVOKED, ApiError
from contracts.publishing import ScheduledPost

ROTATE = ("token", "rotate", "tok_1")
MADE = CreatedToken(token=Token(id="tok_2", name="CI", prefix="svc_live_abc", scopes=("*",)), api_token="t")
NOW = datetime(2027, 1, 1, 12, tzinfo=UTC)
POST = ScheduledPost(
    id="pst_1", page_id="pag_1", brand_id="brd_1", platform="FB", media=(), scheduled_at=NOW, status="queued",
    created_at=NOW,
)  # fmt: skip


def answers(*given: Any) -> Callable[[Any], Any]:
    """Returns a function that gives these answers in turn, and raises those that are errors."""
    left = list(given)

    def answer(_request: Any) -> Any:
        found = left.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    return answer


def lost() -> ApiError:
    return ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=1)


def operations(line: Any) -> list[str]:
    return [caller.operation_id for _, caller, _ in line.bus.calls]


def test_a_call_whose_answer_is_lost_is_asked_again_as_the_same_operation(line: Any) -> None:
    line.bus.answers["rotate_token"] = answers(lost(), MADE)
    assert line.json(*ROTATE)["api_token"] == "t"
    first, second = operations(line)
    assert first == second
    assert first.startswith("op_")


def test_two_commands_are_two_operations(line: Any) -> None:
    line.bus.answers["rotate_token"] = MADE
    line.json(*ROTATE)
    line.json(*ROTATE)
    assert len(set(operations(line))) == 2


def test_a_refusal_is_final(line: Any) -> None:
    line.bus.answers["rotate_token"] = ApiError(TOKEN_REVOKED)
    assert line.json(*ROTATE, exit_code=1)["code"] == "TOKEN_REVOKED"
    assert len(line.bus.calls) == 1


@pytest.mark.parametrize("given", [[], ["--operation", "op_mine"]])
def test_without_an_answer_the_operation_is_told_and_can_be_given_again(line: Any, given: list[str]) -> None:
    line.bus.answers["rotate_token"] = lost()
    told = line.json(*given, *ROTATE, exit_code=1)
    assert told["code"] == "SERVICE_UNAVAILABLE"
    assert f"--operation {told['operation']}" in told["error"]
    assert set(operations(line)) == {told["operation"]}
    assert told["operation"] == "op_mine" or not given
    assert (
        f"--operation {operations(line)[0]}" not in line.run(*ROTATE).stderr
    )  # another run, another operation

    line.bus.answers["rotate_token"] = MADE
    assert line.json("--operation", told["operation"], *ROTATE)["api_token"] == "t"
    assert operations(line)[-1] == told["operation"]


def test_an_empty_operation_is_wrong_usage(line: Any) -> None:
    assert line.run("--operation", "", *ROTATE).exit_code == 2
    assert line.bus.calls == []


def test_people_read_how_to_repeat_it_on_standard_error(line: Any) -> None:
    line.bus.answers["create_user"] = lost()
    stderr = line.run("user", "create", "--email", "a@example.com", "--tier", "free").stderr
    assert f"--operation {operations(line)[0]}" in stderr


def asked(line: Any) -> list[str]:
    return [method for method, _, _ in line.bus.calls]


def test_a_post_is_brought_due_only_once_that_is_noted(line: Any) -> None:
    line.bus.answers |= {
        "get_scheduled_post": POST,
        "record_audit": answers(lost(), lost(), None),
        "bring_post_due": ApiError(NOT_FOUND),
    }
    assert line.json("post", "due", "pst_1", exit_code=1)["code"] == "SERVICE_UNAVAILABLE"
    assert "bring_post_due" not in asked(line)
    assert line.json("post", "due", "pst_1", exit_code=1)["code"] == "NOT_FOUND"
    assert asked(line)[-2:] == ["record_audit", "bring_post_due"]


def test_what_is_not_queued_is_not_noted_as_brought_due(line: Any) -> None:
    published = replace(POST, status="published")
    line.bus.answers |= {"get_scheduled_post": published, "bring_post_due": ApiError(NOT_FOUND)}
    assert line.json("post", "due", "pst_1", exit_code=1)["code"] == "NOT_FOUND"
    assert "record_audit" not in asked(line)
