"""The addresses that a webhook may be sent to: they are checked before each post, and no others are used."""

import socket
from typing import Any

import pytest

from chassis.http import webhook_connection
from chassis.http.addresses import parse_allowed_network
from chassis.http.webhook_connection import Answered, PostProblem

from .posts import HOST, PUBLIC, Server, loopback, post, problem


def test_the_name_is_looked_up_each_time_and_a_kept_connection_to_elsewhere_is_left(
    dialled: list[Any], connect: Any
) -> None:
    one = connect([PUBLIC], [PUBLIC, "8.8.8.8"], ["8.8.8.8"])
    for _ in range(3):
        post(one)
    assert dialled == [(PUBLIC, 80), ("8.8.8.8", 80)]


@pytest.mark.parametrize("addresses", [["127.0.0.1"], [PUBLIC, "10.0.0.1"], ["::1"], ["64:ff9b::a00:1"], []])
def test_a_name_that_moves_into_our_network_is_not_posted_to_though_a_connection_is_kept(
    addresses: list[str], server: Server, dialled: list[Any], connect: Any
) -> None:
    one = connect([PUBLIC], addresses)
    post(one)
    assert problem(one) is PostProblem.PRIVATE_ADDRESS
    assert len(server.seen) == len(dialled) == 1


def test_of_a_names_addresses_only_the_allowed_private_ones_are_called(
    dialled: list[Any], connect: Any
) -> None:
    allowed = [parse_allowed_network("10.1.0.0/16:80")]
    post(connect(["10.1.0.5", "10.2.0.5", PUBLIC], allowed=allowed), url="http://hooks.internal")
    assert dialled == [("10.1.0.5", 80)]
    assert problem(connect(["10.2.0.5"], allowed=allowed)) is PostProblem.PRIVATE_ADDRESS


def test_a_private_address_in_the_url_is_refused_unless_it_is_allowed(server: Server, connect: Any) -> None:
    url = f"http://127.0.0.1:{server.server_port}"
    assert problem(connect(), url=url) is PostProblem.PRIVATE_ADDRESS
    assert post(connect(allowed=[loopback(server.server_port)]), url=url).status == 200


def test_of_an_allowed_private_address_the_other_ports_are_refused(server: Server, connect: Any) -> None:
    port = server.server_port
    for other in (loopback(port - 1), loopback(port + 1)):
        assert (
            problem(connect(allowed=[other]), url=f"http://127.0.0.1:{port}") is PostProblem.PRIVATE_ADDRESS
        )
        by_name = connect(["127.0.0.1"], allowed=[other])
        assert problem(by_name, url=f"http://{HOST}:{port}") is PostProblem.PRIVATE_ADDRESS
    assert server.seen == []


@pytest.mark.parametrize("path", ["hook", "large", "chunked", "slow_body"])
def test_of_the_answer_of_a_private_address_nothing_but_the_status_is_handed_on(
    path: str, server: Server, connect: Any
) -> None:
    port = server.server_port
    for one, url in (
        (connect(allowed=[loopback(port)]), f"http://127.0.0.1:{port}"),
        (connect(["127.0.0.1"], allowed=[loopback(port)]), f"http://{HOST}:{port}"),
    ):
        assert post(one, path, url=url, seconds=1.0) == Answered(200, None)


def test_an_address_that_does_not_answer_leaves_time_for_the_next(
    server: Server, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    seconds: list[float] = []
    real = socket.create_connection

    def dial(address: tuple[str, int], timeout: float) -> socket.socket:
        tried.append(address[0])
        seconds.append(timeout)
        return real(address, timeout if address[0] == "127.0.0.1" else 0.1)

    monkeypatch.setattr(webhook_connection.socket, "create_connection", dial)
    with socket.create_server(("127.0.0.2", server.server_port), backlog=0) as full:
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        one = connect(["127.0.0.2", "127.0.0.1"], allowed=[parse_allowed_network("127.0.0.0/8:1-65535")])
        url = f"http://{HOST}:{server.server_port}"
        for _ in range(2):
            assert post(one, url=url, seconds=30.0).status == 200
            one.close()
        assert seconds[0] <= 15.0
        assert tried == ["127.0.0.2", "127.0.0.1", "127.0.0.1"]  # the one that answered is tried first
        for filler in fillers:
            filler.close()
