"""Limits hold for all processes together: two gateways with two processes each, and two processes each of accounts and
quota.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pika
import pytest
import requests

from chassis.bus.topology import rpc_queue
from chassis.db import clock
from chassis.db.database import Database
from contracts.accounts import CreateToken, CreateUser
from contracts.caller import operator
from testkit.fixtures import START_SECONDS

PASSWORD = "correct horse"
Send = Callable[..., requests.Response]


@pytest.fixture(scope="module")
def replicas(shared_service: Callable[..., Any]) -> dict[str, Any]:
    """The services accounts and quota, each as two processes on one database."""
    found = {}
    for name, env in (
        ("accounts", {"TOKEN_SECRET": "s" * 40, "SIGNUPS": "open", "LOGINS_PER_HOUR": "30"}),
        ("quota", {}),
    ):
        found[name] = shared_service(name, env=env)
        shared_service(name, env={**env, "DATABASE_URL": found[name].env["DATABASE_URL"]})
    # Otherwise the first process could answer alone.
    with pika.BlockingConnection(pika.URLParameters(found["quota"].env["AMQP_URL"])) as connection:
        channel = connection.channel()
        for name in found:
            end = time.monotonic() + START_SECONDS
            while channel.queue_declare(rpc_queue(name), passive=True).method.consumer_count < 2:
                assert time.monotonic() < end, f"the second process of {name} takes no calls"
    return found


@pytest.fixture(scope="module")
def send(replicas: dict[str, Any], running: Any) -> Iterator[Send]:
    """`send(number, method, path, network=…)` sends a request on a new connection. Odd and even numbers go to different
    gateways.
    """
    with running(replicas["accounts"], 2, TRUSTED_PROXY_HOPS="1") as gateways:

        def call(number: int, method: str, path: str, network: str = "", **options: Any) -> requests.Response:
            headers = options.pop("headers", {}) | ({"X-Forwarded-For": network} if network else {})
            url = gateways[number % 2].url + path
            return requests.request(method, url, headers=headers, timeout=60, **options)

        yield call


def codes(send: Callable[[int], requests.Response], count: int) -> Counter[Any]:
    """Sends `count` requests, sixteen at a time. Returns how often each status or error code was answered."""
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(send, range(count)))
    return Counter(it.json().get("code", it.status_code) for it in answers)


@pytest.mark.parametrize("email", ["ada@example.com", "nobody@example.com"])
def test_guesses_from_one_network_at_an_address_are_twenty(
    replicas: dict[str, Any], send: Send, email: str
) -> None:
    if email.startswith("ada"):
        replicas["accounts"].create_user(operator(), CreateUser(email=email, password=PASSWORD))
    network = f"192.0.2.{len(email)}"

    def guess(number: int) -> requests.Response:
        body = {"email": email, "password": f"wrong guess {number}"}
        return send(number, "POST", "/auth/login", network, json=body)

    assert codes(guess, 28) == {"INVALID_CREDENTIALS": 20, "RATE_LIMITED": 8}


def test_sign_ins_of_one_network_are_as_many_as_set_whatever_the_addresses(send: Send) -> None:
    def guess(number: int) -> requests.Response:
        body = {"email": f"user{number}@example.com", "password": "wrong guess"}
        return send(number, "POST", "/auth/login", "198.51.100.1", json=body)

    assert codes(guess, 40) == {"INVALID_CREDENTIALS": 30, "RATE_LIMITED": 10}


def test_ten_addresses_an_hour_can_be_asked_about_from_one_network(send: Send) -> None:
    def ask(number: int) -> requests.Response:
        body = {"email": f"new{number}@example.com", "password": PASSWORD}
        return send(number, "POST", "/auth/signup", "198.51.100.2", json=body)

    assert codes(ask, 16) == {201: 10, "RATE_LIMITED": 6}


def test_an_address_can_be_asked_about_five_times_a_day_from_any_networks(
    replicas: dict[str, Any], send: Send
) -> None:
    replicas["accounts"].create_user(operator(), CreateUser(email="known@example.com"))

    def ask(email: str, number: int) -> requests.Response:
        body = {"email": email, "password": PASSWORD}
        return send(number, "POST", "/auth/signup", f"203.0.113.{number}", json=body)

    known = codes(lambda number: ask("known@example.com", number), 12)
    assert known == {"EMAIL_TAKEN": 5, "RATE_LIMITED": 7}
    unknown = codes(lambda number: ask("unknown@example.com", number + 12), 12)
    assert unknown == {201: 1, "EMAIL_TAKEN": 4, "RATE_LIMITED": 7}


def test_reset_links_of_an_address_are_asked_for_five_times_a_day(send: Send) -> None:
    def ask(number: int) -> requests.Response:
        body = {"email": "forgetful@example.com"}
        return send(number, "POST", "/auth/password/forgot", f"203.0.113.{100 + number}", json=body)

    assert codes(ask, 12) == {202: 5, "RATE_LIMITED": 7}


def test_a_token_has_its_minutes_requests_once_over_all_gateways(
    replicas: dict[str, Any], send: Send
) -> None:
    user = replicas["accounts"].create_user(operator(), CreateUser(email="pro@example.com", tier="pro")).user
    request = CreateToken(user_id=user.id, scopes=("*",))
    headers = {"X-API-Key": replicas["accounts"].create_token(operator(), request).api_token}
    begin_minute(replicas["quota"])
    found = codes(lambda number: send(number, "GET", "/api/v1/me", headers=headers), 160)
    assert found == {200: 60, "RATE_LIMITED": 100}


def begin_minute(quota: Any) -> None:
    """Shifts quota's clock to the beginning of a minute, far from midnight, so that no window ends during the test."""
    moment = datetime.now(UTC).replace(hour=12, minute=0, second=1) + timedelta(days=1)
    database = Database(quota.env["DATABASE_URL"], pool_size=1)
    with database.transaction() as connection:
        clock.set_shift(connection, (moment - clock.now(connection)).total_seconds())
    database.close()
