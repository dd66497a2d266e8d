"""Who may call which method: every method names its callers, and the code makes exactly these calls."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Protocol

import pytest

from contracts.senders import called_by, callers_of
from contracts.services import NAMES, SERVICES, receivers_of

ROOT = Path(__file__).parents[4]
#: Sender → its sources.
SOURCES = {name: ROOT / "services" / name / name for name in ("gateway", *SERVICES)} | {
    "ctl": ROOT / "libs/ctl/ctl"
}
#: How a variable that holds a service's client is called, where not after the service.
ALIASES = {"_quota": "quota"}
DECLARED = {
    (sender, service, method)
    for service, api in SERVICES.items()
    for method, callers in callers_of(api).items()
    for sender in callers
}


@cache
def attributes(sender: str) -> list[ast.Attribute]:
    """Returns every attribute access in the sender's code."""
    trees = [ast.parse(path.read_text()) for path in SOURCES[sender].rglob("*.py")]
    return [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)]


def accessed(sender: str) -> Iterator[tuple[str, str]]:
    """Yields service and attribute for each access to an object that is named like another service, such as
    `app.media.attach_media`.
    """
    for node in attributes(sender):
        holder = node.value
        name = getattr(holder, "attr", None) or getattr(holder, "id", None)
        service = ALIASES.get(str(name), str(name))
        if service in SERVICES and service != sender:
            yield service, node.attr


def test_every_method_names_its_callers_and_all_of_them_are_ours() -> None:
    for api in SERVICES.values():
        surface = {name for name in vars(api) if not name.startswith("_")}
        assert callers_of(api).keys() == surface
    assert {sender for sender, _, _ in DECLARED} <= set(NAMES)


def test_what_the_code_calls_it_may_call() -> None:
    calls = {
        (sender, service, method)
        for sender in SOURCES
        for service, method in accessed(sender)
        if method in callers_of(SERVICES[service])
    }
    assert len(calls) > 80  # the search finds something
    assert set() == calls - DECLARED


@pytest.mark.parametrize(("sender", "service", "method"), sorted(DECLARED))
def test_who_may_call_a_method_calls_it(sender: str, service: str, method: str) -> None:
    assert any(node.attr == method for node in attributes(sender)), "a permission that nobody needs"


def test_what_only_the_operator_may_do_only_the_command_line_may_call() -> None:
    for service, method in (
        *(("accounts", name) for name in ("create_user", "create_token", "rotate_token", "change_tier")),
        *(("publishing", name) for name in ("link_page", "expire_page", "bring_post_due", "rotate_keys")),
        *(("ai", "grant_credits"), ("media", "get_sandbox"), ("webhooks", "rotate_keys")),
    ):
        assert callers_of(SERVICES[service])[method] == {"ctl"}
    for method in ("view_link", "decide_link", "finish_link"):
        assert callers_of(SERVICES["publishing"])[method] == {"gateway"}


@pytest.mark.parametrize("sender", sorted(SOURCES.keys() - {"ctl"}))
def test_no_other_code_calls_as_the_operator(sender: str) -> None:
    forbidden = {"operator", "OPERATOR_SCOPE"}
    for path in SOURCES[sender].rglob("*.py"):
        source = path.read_text()
        if any(name in source for name in forbidden):
            names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
            assert not names & forbidden, path


def test_a_protocol_that_forgets_a_method_or_names_one_too_many_is_refused() -> None:
    class Api(Protocol):
        def read(self) -> None: ...
        def write(self) -> None: ...

    with pytest.raises(TypeError, match="names no sender for write"):
        called_by(gateway="read")(Api)
    with pytest.raises(TypeError, match="erase, which it does not have"):
        called_by(gateway="read write erase")(Api)
    with pytest.raises(TypeError, match="needs @called_by"):
        callers_of(Api)


def test_keys_are_for_those_a_sender_calls_or_tells() -> None:
    assert receivers_of("gateway") == receivers_of("ctl") == set(SERVICES)
    assert receivers_of("publishing") == {"media", "quota", "webhooks", "accounts"}
    assert receivers_of("accounts") == {"webhooks", "publishing"}
    assert receivers_of("media") == set()
