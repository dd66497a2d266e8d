import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from chassis.runtime.locked_cache import locked_cache


def test_threads_that_ask_before_the_first_result_get_the_same_object() -> None:
    both_make = threading.Barrier(2)

    @locked_cache
    def make(name: str) -> list[str]:
        with suppress(threading.BrokenBarrierError):
            both_make.wait(0.1)
        return [name]

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(make, ["a", "a"])
    assert second is first
    assert make("b") is not first


def test_an_error_is_not_kept() -> None:
    calls: list[None] = []

    @locked_cache
    def make() -> str:
        calls.append(None)
        if len(calls) == 1:
            raise ConnectionError
        return "made"

    with pytest.raises(ConnectionError):
        make()
    assert make() == "made"
