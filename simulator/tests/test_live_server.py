"""Tests that need a real socket. They run `python -m simulator`, as the local stack does."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import requests

PACKAGE = Path(__file__).parents[1]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    port = free_port()
    environ = {
        **os.environ,
        "PYTHONPATH": str(PACKAGE),
        "OUTBOUND_HOST_MAP": f"media.posthaste.test=127.0.0.1:{port}",
    }
    process = subprocess.Popen([sys.executable, "-m", "simulator", "--port", str(port)], env=environ)
    try:
        wait_until_up(process, port)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def wait_until_up(process, port):
    with requests.Session() as session:
        session.mount("http://", requests.adapters.HTTPAdapter(max_retries=RETRIES))
        session.get(f"http://127.0.0.1:{port}/_sim/health", timeout=10).raise_for_status()
    assert process.poll() is None


#: Refused connections are tried again after 0.1, 0.2, 0.4 … seconds, 12 s in all.
RETRIES = requests.adapters.Retry(connect=7, backoff_factor=0.1)


@pytest.fixture
def page(server: str) -> dict[str, Any]:
    requests.post(f"http://{server}/_sim/reset", timeout=5)
    return requests.post(f"http://{server}/_sim/accounts", json={"platform": "FB"}, timeout=5).json()


def publish(connection, page, message="hello"):
    body = urlencode({"message": message, "access_token": page["access_token"]})
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", f"/graph.facebook.com/v26.0/{page['account_id']}/feed", body, headers)
    with connection.getresponse() as answer:
        return answer.status, answer.read()


def plan(server, mode, **options):
    body = {"platform": "FB", "operation": "publish", "mode": mode, "times": 1, **options}
    requests.post(f"http://{server}/_sim/faults", json=body, timeout=5)


def held(server):
    return [post["text"] for post in requests.get(f"http://{server}/_sim/posts", timeout=5).json()["posts"]]


@pytest.fixture
def connection(server: str) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection(server, timeout=5)
    yield connection
    connection.close()


def test_one_connection_serves_many_requests(server, page, connection):
    assert publish(connection, page)[0] == 200
    used = connection.sock
    assert publish(connection, page)[0] == 200
    assert connection.sock is used


def test_a_dropped_answer_leaves_the_post_and_not_a_byte(server, page, connection):
    plan(server, "drop_after_accept")
    with pytest.raises(http.client.RemoteDisconnected):
        publish(connection, page, "kept")
    assert held(server) == ["kept"]


def test_a_hanging_call_never_answers_and_changes_nothing(server, page):
    plan(server, "hang")
    connection = http.client.HTTPConnection(server, timeout=0.3)
    with pytest.raises(TimeoutError):
        publish(connection, page, "lost")
    connection.close()
    assert held(server) == []


def test_slow_calls_are_as_late_as_asked_and_wait_beside_one_another(server, page):
    plan(server, "slow", times=40, seconds=0.5)
    began = time.monotonic()
    with ThreadPoolExecutor(40) as threads:

        def one(number):
            connection = http.client.HTTPConnection(server, timeout=10)
            status, _ = publish(connection, page, f"post {number}")
            connection.close()
            return status

        assert list(threads.map(one, range(40))) == [200] * 40
    assert 0.5 <= time.monotonic() - began < 5
    assert len(held(server)) == 40


def test_an_answer_trickles_at_the_rate_that_was_asked_for(server, page, connection):
    plan(server, "trickle", bytes_per_second=100)
    began = time.monotonic()
    status, body = publish(connection, page, "kept")
    assert (status, len(body) / 200 < time.monotonic() - began) == (200, True)
    assert held(server) == ["kept"]
    assert publish(connection, page)[0] == 200


def test_a_body_is_read_at_the_rate_that_was_asked_for(server, page, connection):
    plan(server, "trickle", operation="any", bytes_per_second=2_000, side="body")
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Authorization": f"Bearer {page['access_token']}",
    }
    began = time.monotonic()
    connection.request(
        "POST",
        f"/graph.facebook.com/v26.0/{page['account_id']}/feed",
        urlencode({"message": "x" * 1000}),
        headers,
    )
    with connection.getresponse() as answer:
        assert answer.status == 200
        answer.read()
    assert time.monotonic() - began > 0.4
    assert held(server) == ["x" * 1000]


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "slow", "seconds": 0},
        {"mode": "hang", "seconds": 3},
        {"mode": "trickle"},
        {"mode": "slow", "bytes_per_second": 10},
        {"mode": "trickle", "bytes_per_second": 10, "side": "head"},
        {"mode": "trickle", "bytes_per_second": 10, "side": "body", "operation": "publish"},
    ],
    ids=str,
)
def test_a_slowness_that_makes_no_sense_is_refused(server, options):
    body = {"platform": "FB", "operation": "any", **options}
    assert requests.post(f"http://{server}/_sim/faults", json=body, timeout=5).status_code == 400


def test_clearing_the_faults_lets_go_of_a_hanging_call(server, page):
    plan(server, "hang")
    with socket.create_connection(server.split(":"), timeout=5) as client:
        body = urlencode({"message": "lost", "access_token": page["access_token"]}).encode()
        head = f"POST /v26.0/{page['account_id']}/feed HTTP/1.1\r\nHost: graph.facebook.com\r\n"
        head += f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n"
        client.sendall(head.encode() + body)
        until = time.monotonic() + 30
        while requests.get(f"http://{server}/_sim/faults", timeout=5).json()["faults"]:
            assert time.monotonic() < until, "the call did not use up its fault"
        requests.delete(f"http://{server}/_sim/faults", timeout=5)
        assert client.recv(100) == b""
    assert held(server) == []


def test_media_are_fetched_over_the_wire_by_the_host_map(server, page):
    url = f"http://{server}/graph.facebook.com/v26.0/{page['account_id']}/photos"
    form = {
        "access_token": page["access_token"],
        "url": "http://media.posthaste.test/media/photo-640x480.jpg",
    }
    assert "post_id" in requests.post(url, form, timeout=5).json()
    form["url"] = (
        "http://media.posthaste.test/media/redirect?to=http://media.posthaste.test/media/photo-640x480.jpg"
    )
    assert "post_id" in requests.post(url, form, timeout=5).json()
    form["url"] = "http://media.posthaste.test/media/huge.jpg"
    assert requests.post(url, form, timeout=5).json()["error"]["error_subcode"] == 1366046


def test_the_huge_file_claims_gigabytes_and_hangs_up(server, connection):
    connection.request("GET", "/media/huge.jpg")
    with connection.getresponse() as answer:
        assert int(answer.headers["Content-Length"]) == 5 << 30
        with pytest.raises(http.client.IncompleteRead) as cut:
            answer.read()
    assert len(cut.value.partial) == 1024


def ask_gemini(connection, prompt="A bakery"):
    body = json.dumps({"contents": [{"parts": [{"text": prompt}]}]})
    headers = {"Content-Type": "application/json", "x-goog-api-key": "local-gemini-key"}
    connection.request("POST", "/v1beta/models/gemini-3.1-flash-image:generateContent", body, headers)
    with connection.getresponse() as answer:
        return answer.status, answer.read()


def pay(connection, key):
    body = urlencode({"amount": 900, "currency": "usd", "payment_method": "pm_card_visa", "confirm": "true"})
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Authorization": "Bearer local-stripe-key",
        "Idempotency-Key": key,
    }
    connection.request("POST", "/v1/payment_intents", body, headers)
    with connection.getresponse() as answer:
        answer.read()
        return answer.status, answer.headers.get("Idempotent-Replayed")


def paid_at_last(server, key):
    """Repeats the request on new connections until the first one has ended, because until then its idempotency key is
    in use.
    """
    while True:
        line = http.client.HTTPConnection(server, timeout=5)
        with contextlib.closing(line), contextlib.suppress(http.client.HTTPException):
            if (answer := pay(line, key))[0] != 409:
                return answer


def plan_for(server, platform, operation, mode):
    body = {"platform": platform, "operation": operation, "mode": mode}
    assert requests.post(f"http://{server}/_sim/faults", json=body, timeout=5).status_code == 201


def seen(server, path):
    return requests.get(f"http://{server}/_sim/{path}", timeout=5).json()


def test_a_picture_whose_answer_is_dropped_was_made(server, page, connection):
    plan_for(server, "gemini", "image", "drop_after_accept")
    with pytest.raises(http.client.RemoteDisconnected):
        ask_gemini(connection)
    assert seen(server, "ai")["counts"] == {"gemini": {"image": 1}}


def test_a_hanging_provider_makes_nothing(server, page):
    plan_for(server, "gemini", "image", "hang")
    connection = http.client.HTTPConnection(server, timeout=0.3)
    with pytest.raises(TimeoutError):
        ask_gemini(connection)
    connection.close()
    assert seen(server, "ai")["counts"] == {}


def test_a_payment_whose_answer_is_dropped_is_charged_once(server, page, connection):
    plan_for(server, "stripe", "payment", "drop_after_accept")
    with pytest.raises(http.client.RemoteDisconnected):
        pay(connection, "order-7")
    assert paid_at_last(server, "order-7") == (200, "true")
    assert seen(server, "payments")["charged"] == {"count": 1, "amount": 900}


def test_a_key_of_a_hanging_payment_is_in_use(server, page, connection):
    plan_for(server, "stripe", "payment", "hang")
    hanging = http.client.HTTPConnection(server, timeout=0.3)
    with pytest.raises(TimeoutError):
        pay(hanging, "order-8")
    while seen(server, "faults")["faults"]:
        pass
    assert pay(connection, "order-8")[0] == 409
    hanging.close()


def test_a_caller_that_does_not_close_holds_up_nobody(server):
    host, port = server.split(":")
    with contextlib.ExitStack() as held:
        for _ in range(3):
            slow = held.enter_context(socket.create_connection((host, int(port)), timeout=5))
            slow.sendall(b"GET /_sim/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            while slow.recv(65536):
                pass
        with requests.Session() as session:
            assert session.get(f"http://{server}/_sim/health", timeout=1.5).ok
