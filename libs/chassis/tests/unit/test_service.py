"""The calls and loops that a service.py declares by naming only their use case."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Protocol

import pytest

from chassis.bus.frames import check_types, methods_of
from chassis.service import call, repeat, rpc
from contracts.caller import Caller
from contracts.record import Nothing, Record
from contracts.senders import called_by

CALLER = Caller(account_id="usr_1", user_id="usr_1")


class Word(Record):
    text: str


@called_by(gateway="say")
class WordsApi(Protocol):
    def say(self, caller: Caller, request: Word) -> Word: ...


METHOD = methods_of(WordsApi)["say"]


def say(app: str, caller: Caller, request: Word) -> Word:
    return Word(text=f"{app} {caller.account_id} {request.text}")


def answers_nothing(app: str, caller: Caller, request: Word) -> Nothing:
    return Nothing()


def takes_nothing(app: str, caller: Caller, request: Nothing) -> Word:
    return Word(text="")


def test_a_use_case_answers_with_the_services_context() -> None:
    service = SimpleNamespace(name="words", app="app")
    assert call(say)(service, CALLER, Word(text="hello")) == Word(text="app usr_1 hello")


def test_a_use_case_gets_only_what_its_parameters_name() -> None:
    service = SimpleNamespace(name="words", app="app")
    assert call(lambda app, caller: caller.user_id)(service, CALLER, Nothing()) == "usr_1"
    assert call(lambda app, request: request.text)(service, CALLER, Word(text="hello")) == "hello"


def test_a_live_call_holds_one_of_the_accounts_slots_while_it_runs() -> None:
    held: list[str] = []

    @contextmanager
    def live_call(account_id: str) -> Iterator[None]:
        held.append(account_id)
        yield
        held.clear()

    service = SimpleNamespace(name="words", app=SimpleNamespace(live_call=live_call))
    assert call(lambda app: [*held], live=True)(service, CALLER, Nothing()) == ["usr_1"]
    assert held == []


def test_a_use_case_is_repeated_with_the_services_context() -> None:
    assert repeat(len, 1.0)(SimpleNamespace(app="four")) == 4


@pytest.mark.parametrize("use_case", [answers_nothing, takes_nothing])
def test_a_service_with_other_types_than_its_protocol_is_refused(use_case: Any) -> None:
    with pytest.raises(TypeError, match="say has other types than in its Protocol"):
        check_types(call(use_case), METHOD)


def test_a_service_with_the_types_of_its_protocol_or_none_is_accepted() -> None:
    @rpc
    def untyped(self, caller, request):  # type: ignore[no-untyped-def]
        """Has no types, like the tests' own service."""

    check_types(call(say), METHOD)
    check_types(untyped, METHOD)
