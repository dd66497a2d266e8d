"""How long the gateway uses its cached data about a token."""

from collections.abc import Callable
from typing import Any

import pytest

from contracts.accounts import Authenticate
from contracts.errors import INVALID_TOKEN, ApiError
from contracts.events import CallerChanged
from gateway.callers import CallerCache


class Accounts:
    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked = 0
        self.meanwhile: Callable[[], None] = lambda: None

    def authenticate(self, _request: Authenticate) -> Any:
        self.asked += 1
        self.meanwhile()
        return self.answer


@pytest.fixture
def accounts(kit: Any) -> Accounts:
    return Accounts(kit.identity())


def test_asks_once_until_the_entry_is_too_old(accounts: Accounts) -> None:
    now = [0.0]
    cache = CallerCache(accounts.authenticate, 5.0, monotonic=lambda: now[0])
    for now[0], asked in ((0.0, 1), (4.9, 1), (5.1, 2)):
        cache.find("a")
        assert accounts.asked == asked


@pytest.mark.parametrize(
    ("change", "dropped"),
    [
        (CallerChanged(token_ids=("tok_1",)), True),
        (CallerChanged(account_ids=("usr_1",)), True),
        (CallerChanged(token_ids=("tok_2",), account_ids=("usr_2",)), False),
    ],
)
def test_a_change_drops_what_it_touches(accounts: Accounts, change: CallerChanged, dropped: bool) -> None:
    cache = CallerCache(accounts.authenticate, 5.0)
    cache.find("a")
    cache.drop(change)
    cache.find("a")
    assert accounts.asked == (2 if dropped else 1)


def test_a_lost_connection_drops_everything(accounts: Accounts) -> None:
    cache = CallerCache(accounts.authenticate, 5.0)
    cache.find("a")
    cache.clear()
    cache.find("a")
    assert accounts.asked == 2


def test_an_answer_that_a_change_overtook_is_not_kept(accounts: Accounts) -> None:
    cache = CallerCache(accounts.authenticate, 5.0)
    accounts.meanwhile = lambda: cache.drop(CallerChanged(token_ids=("tok_1",)))
    cache.find("a")
    accounts.meanwhile = lambda: None
    cache.find("a")
    cache.find("a")
    assert accounts.asked == 2


def test_a_refusal_is_not_kept() -> None:
    asked = []

    def authenticate(token_sha256: str) -> Any:
        asked.append(token_sha256)
        raise ApiError(INVALID_TOKEN)

    cache = CallerCache(authenticate, 5.0)
    for _ in range(2):
        with pytest.raises(ApiError):
            cache.find("a")
    assert len(asked) == 2
