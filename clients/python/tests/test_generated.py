"""The generated modules agree with the API's present description."""

import inspect
from typing import Any

import pytest

from client_generator.__main__ import current, generated
from client_generator.descriptions import is_left_out, methods_of
from gateway.openapi.description import describe
from gateway.routes import ENDPOINTS
from posthaste import AsyncPosthaste, Posthaste


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    return describe(ENDPOINTS)


def test_the_generated_modules_are_current() -> None:
    new, old = generated(), current()
    changed = sorted(str(path) for path in new.keys() | old.keys() if new.get(path) != old.get(path))
    assert changed == [], (
        "a client is older than the API's description: run ./dev clients and commit the files"
    )


def test_every_operation_has_a_method_except_pages_files_and_calls_of_platforms(
    description: dict[str, Any],
) -> None:
    left_out = {
        operation["operationId"]
        for operations in description["paths"].values()
        for operation in operations.values()
        if is_left_out(operation)
    }
    assert left_out == {
        "acceptByForm", "confirmEmailByForm", "decideLink", "decideVerification", "finishLink", "getFile",
        "receiveHook", "receiveStripeEvent", "resetByForm", "showLink", "uploadMedia", "verifyHook", "viewEmailChange",
        "viewInvitation", "viewReset", "viewVerification",
    }  # fmt: skip
    assert Posthaste.upload.__doc__  # in place of uploadMedia


def test_both_clients_have_the_same_methods_with_the_same_arguments(description: dict[str, Any]) -> None:
    methods = methods_of(description)
    assert len(methods) > 60
    for name in {method.name for method in methods}:
        waits, awaited = getattr(Posthaste, name), getattr(AsyncPosthaste, name)
        assert inspect.signature(waits) == inspect.signature(awaited)
        assert inspect.iscoroutinefunction(awaited)


def test_a_body_for_one_page_and_one_for_several_are_two_methods_with_their_own_answers() -> None:
    assert inspect.signature(Posthaste.schedule_post).return_annotation == "records.ScheduledPostView"
    assert inspect.signature(Posthaste.schedule_posts).return_annotation == "records.PageResults"
    assert "page_ids" not in inspect.signature(Posthaste.schedule_post).parameters


def test_no_two_methods_share_a_name(description: dict[str, Any]) -> None:
    names = [method.name for method in methods_of(description)]
    assert sorted(set(names)) == sorted(names)
