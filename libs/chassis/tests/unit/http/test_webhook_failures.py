"""Failed posts: whether the cause is the receiver, or this machine and its network."""

import errno
import math
import socket
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from chassis.http import webhook_connection
from chassis.http.addresses import parse_allowed_network
from chassis.http.connectivity import ConnectivityTracker
from chassis.http.resolver import Resolver
from chassis.http.webhook_connection import PostFailed, PostProblem

from .posts import HOST, PUBLIC, post

V6 = "2a00:1450::1"


class SlowNames:
    """A resolver that does not answer before the end of the test for names that contain `slow`."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.asked: list[str] = []

    def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        if "slow" in host:
            self.over.wait(60)
        return [PUBLIC]


@pytest.fixture
def slow_names() -> Iterator[SlowNames]:
    made = SlowNames()
    yield made
    made.over.set()


def all_at_once(connect: Any, resolve: Any, hosts: Sequence[str], seconds: float) -> list[PostFailed]:
    """Posts to each host over its own connection, and returns the failures."""
    failures: list[PostFailed] = []

    def try_one(host: str) -> None:
        with pytest.raises(PostFailed) as failure:
            post(connect(resolve=resolve), url=f"http://{host}", seconds=seconds)
        failures.append(failure.value)

    threads = [threading.Thread(target=try_one, args=(host,)) for host in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


def test_names_that_are_slow_hold_up_nobody_elses(
    dialled: list[Any], connect: Any, slow_names: SlowNames
) -> None:
    hosts = [f"slow{number}.example.com" for number in range(130)]
    assert len(all_at_once(connect, slow_names, hosts, 0.5)) == 130
    assert post(connect(resolve=slow_names), seconds=30.0).status == 200


def test_a_name_is_looked_up_once_for_all_who_ask_meanwhile(connect: Any, slow_names: SlowNames) -> None:
    failures = all_at_once(connect, slow_names, ["slow.example.com"] * 5, 0.3)
    assert [(failed.problem, failed.is_ours) for failed in failures] == [(PostProblem.TIMEOUT, True)] * 5
    assert slow_names.asked == ["slow.example.com"]


def test_a_look_up_that_found_no_turn_says_so_and_is_not_made_for_nobody(
    dialled: list[Any], connect: Any, slow_names: SlowNames, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolver = Resolver(1)
    monkeypatch.setattr(webhook_connection, "resolver", lambda: resolver)
    post(connect(resolve=slow_names))
    (failed,) = all_at_once(connect, slow_names, ["slow.example.com"], 0.1)
    assert failed.others_at > 0
    (failed,) = all_at_once(connect, slow_names, ["late.example.com"], 0.1)
    assert (failed.problem, failed.is_ours) == (PostProblem.TIMEOUT, True)
    assert failed.others_at == -math.inf  # although others succeeded
    slow_names.over.set()
    post(connect(resolve=slow_names))
    assert slow_names.asked == [HOST, "slow.example.com", HOST]


def test_a_name_that_is_not_told_comes_with_when_others_last_were(
    dialled: list[Any], connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolver = Resolver(2)
    monkeypatch.setattr(webhook_connection, "resolver", lambda: resolver)
    answers: dict[str, Any] = {"a.example.com": PUBLIC, "b.example.com": PUBLIC}

    def resolve(host: str, port: int) -> list[str]:
        if host not in answers:
            raise socket.gaierror(socket.EAI_AGAIN, "try again")
        return [answers[host]]

    def others_at(host: str) -> float:
        with pytest.raises(PostFailed) as failure:
            post(connect(resolve=resolve), url=f"http://{host}")
        return failure.value.others_at

    assert others_at("lame.example.com") == -math.inf
    answers["inside.example.com"] = (
        "10.0.0.7"  # private names may come from /etc/hosts, and prove nothing about the network
    )
    with pytest.raises(PostFailed):
        post(connect(resolve=resolve), url="http://inside.example.com")
    assert others_at("lame.example.com") == -math.inf
    post(connect(resolve=resolve), url="http://a.example.com")
    first = others_at("lame.example.com")
    assert first > 0
    post(connect(resolve=resolve), url="http://b.example.com")
    assert others_at("lame.example.com") > first
    answers.pop("b.example.com")
    assert others_at("b.example.com") == first  # its own success proves nothing


def test_a_network_that_is_not_reached_comes_with_when_others_last_were(
    dialled: list[Any], connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_connection, "_reached", ConnectivityTracker())
    working = webhook_connection.socket.create_connection

    def others_at(error: int) -> float:
        def dial(*_: Any, **__: Any) -> None:
            raise OSError(error, "no")

        with monkeypatch.context() as patch, pytest.raises(PostFailed) as failure:
            patch.setattr(webhook_connection.socket, "create_connection", dial)
            post(connect())
        assert webhook_connection.socket.create_connection is working
        return failure.value.others_at

    for address in ("10.1.0.5", V6, PUBLIC):  # private, IPv6, the host itself: none counts
        post(connect([address], allowed=[parse_allowed_network("10.1.0.0/16:80")]))
        assert others_at(errno.ENETUNREACH) == -math.inf
    post(connect(["8.8.8.8"]))
    assert others_at(errno.ENETUNREACH) > 0
    assert others_at(errno.ENETDOWN) == -math.inf


@pytest.mark.parametrize(
    ("error", "is_ours"),
    [
        (socket.gaierror(socket.EAI_AGAIN, "try again"), True),
        (socket.gaierror(socket.EAI_NONAME, "no such name"), False),
        (OSError(errno.EMFILE, "too many open files"), True),
    ],
)
def test_a_look_up_that_failed_for_want_of_something_of_ours_says_so(
    error: OSError, is_ours: bool, connect: Any
) -> None:
    def fail(host: str, port: int) -> list[str]:
        raise error

    with pytest.raises(PostFailed) as failure:
        post(connect(resolve=fail))
    assert (failure.value.problem, failure.value.is_ours) == (PostProblem.UNKNOWN_HOST, is_ours)


@pytest.mark.parametrize(
    ("errors", "is_ours"),
    [
        ({PUBLIC: errno.EMFILE}, True),
        ({V6: errno.ENOBUFS}, True),
        ({PUBLIC: errno.ENETUNREACH}, True),
        ({PUBLIC: errno.EADDRNOTAVAIL}, True),
        ({V6: errno.ENETUNREACH, PUBLIC: errno.ENETUNREACH}, True),
        ({PUBLIC: errno.ENETUNREACH, V6: errno.ETIMEDOUT}, True),
        # In a network without IPv6, a receiver without an IPv4 address is never reachable.
        ({V6: errno.ENETUNREACH}, False),
        ({V6: errno.EADDRNOTAVAIL}, False),
        ({V6: errno.ENETUNREACH, PUBLIC: errno.ECONNREFUSED}, False),
        ({PUBLIC: errno.EHOSTUNREACH}, False),
    ],
)
def test_a_connection_that_failed_for_want_of_something_of_ours_says_so(
    errors: dict[str, int], is_ours: bool, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dial(address: tuple[str, int], **_: Any) -> None:
        raise OSError(errors[address[0]], "no")

    monkeypatch.setattr(webhook_connection.socket, "create_connection", dial)
    with pytest.raises(PostFailed) as failure:
        post(connect(list(errors)))
    assert failure.value.is_ours is is_ours
