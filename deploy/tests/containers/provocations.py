"""Traffic on a stack of Compose, and every kind of failure for which deploy/observability has a series, once each."""

import hashlib
import hmac
import json
import secrets
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import urlsplit

import pika
import requests
from deploy_kit import wait_until

from local.containers.compose import RECEIVER_PORT, Composed
from local.environment import read_env

CALL_SECONDS = 30.0
STRIPE_SECRET = "whsec_of-this-test"
#: Settings of services with which the failures can be caused within seconds.
SETTINGS = {
    "PAYMENT_PROVIDER": "stripe",
    "STRIPE_API_URL": "http://simulator:8000",
    "STRIPE_SECRET_KEY": "of-this-test",
    "STRIPE_WEBHOOK_SECRET": STRIPE_SECRET,
    "PACK_LINKS": "500=https://buy.posthaste.test/500",
    "WEBHOOK_RETRY_SECONDS": "2,2,2,2,2",
}
#: Between two posts that come due. X allows 50 an hour, and all tests together take six minutes.
POST_SECONDS = 8.0
#: How long a failure may take to be seen: some posts, and the failures that another test causes at the same time.
SEEN_SECONDS = 90.0
#: How long it may take to send more requests than a process of the gateway keeps lines of, 10,000.
OVERFLOW_SECONDS = 180.0
#: Of an address that no request comes from (RFC 5737).
ELSEWHERE = "203.0.113.7"


class Receiver:
    """Receives webhooks and answers with `status`. `answers` counts the answers by status and by whether they were to a
    first attempt.
    """

    def __init__(self, host: str) -> None:
        self.status = 204
        self.answers: Counter[tuple[int, bool]] = Counter()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status = receiver.status
                self.send_response(status)
                self.end_headers()
                receiver.answers[status, self.headers["X-Svc-Attempt"] == "1"] += 1

            def log_message(self, *_: Any) -> None:
                """Prints nothing."""

        self.server = HTTPServer((host, RECEIVER_PORT), Handler)
        self.url = f"http://{host}:{RECEIVER_PORT}/"
        threading.Thread(target=self.server.serve_forever, args=(0.1,), daemon=True).start()

    def answer(self, status: int, *, is_first: bool) -> None:
        """Answers with this status from now on. Waits until a first attempt, or a repeated one, has got it."""
        kind = (status, is_first)
        before = self.answers[kind]
        self.status = status
        wait_until(lambda: self.answers[kind] > before, f"an attempt got {kind}", SEEN_SECONDS)


class Traffic:
    """Requests and posts of the demo account while its `with` block runs. Each method causes a failure and ends it."""

    def __init__(self, stack: Composed, host: str) -> None:
        self.stack = stack
        self.env = read_env(stack.run)
        self.receiver = Receiver(host)
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=it) for it in (self._read, self._post)]

    def __enter__(self) -> "Traffic":
        made = self.call(
            "POST", "/webhooks", name="Measured", url=self.receiver.url, events=["post.published"]
        )
        assert made.status_code == 201, made.text
        assert self.call("POST", "/ai/captions", instruction="Rye", brand_id=self.env["BRAND_ID"]).ok
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self.receiver.server.shutdown()
        self.receiver.server.server_close()

    def _read(self) -> None:
        while not self._stop.wait(0.4):
            with suppress(requests.RequestException):
                self.call("GET", "/me")

    def _post(self) -> None:
        while not self._stop.wait(POST_SECONDS):
            with suppress(Exception):  # while a service is away
                self.post()

    def post(self, page_id: str = "") -> None:
        """Schedules a post and makes it due, by default on the page of the traffic."""
        at = (datetime.now(UTC) + timedelta(minutes=15)).isoformat()
        page = page_id or self.env["PAGE_ID_TW"]
        body = {"page_id": page, "message": uuid.uuid4().hex, "scheduled_at": at}
        made = self.call("POST", "/posts/schedule", **body)
        assert made.status_code == 201, made.text
        self.stack.ctl("post", "due", made.json()["scheduled_post"]["id"])

    def call(self, method: str, path: str, token: str = "", **body: Any) -> requests.Response:
        headers = {
            "Authorization": f"Bearer {token or self.env['LIVE_TOKEN']}",
            "Idempotency-Key": uuid.uuid4().hex,
        }
        return requests.request(
            method, self.stack.api + path, headers=headers, json=body or None, timeout=CALL_SECONDS
        )

    # -- failures ---------------------------------------------------------------------------------------

    def fail_posts(self) -> None:
        """Makes a post fail on a new page: on the page of the traffic it would be too close to another post."""
        page = self.stack.ctl(
            "page", "link", "--brand", self.env["BRAND_ID"], "--platform", "TW", "--name", "Failing"
        )
        self._fault("TW", "publish", "reject")
        self.post(page["id"])

    def fail_deliveries(self) -> None:
        """Refuses a delivery and accepts its repetition, three times.

        Prometheus knows a rate only from the second increase of a series on, and two of the three may arrive as one
        increase.
        """
        for _ in range(3):
            self.receiver.answer(500, is_first=True)
            self.receiver.answer(204, is_first=False)

    def send_garbage(self) -> None:
        """Sends messages as an administrator of the broker: an unreadable one to a queue of events, and an unsigned one
        to a queue of calls.
        """
        password = secrets.token_hex(16)
        for words in (("add_user", "noise", password), ("set_permissions", "noise", ".*", ".*", ".*")):
            self._broker(*words)
        url = f"amqp://noise:{password}@{self.stack.address('rabbitmq')}:5672/%2F"
        with pika.BlockingConnection(pika.URLParameters(url)) as connection:
            channel = connection.channel()
            channel.basic_publish("", "events.webhooks", b"nobody can read this")
            unsigned = pika.BasicProperties(reply_to="nowhere")
            call = b'{"steady": 1, "connection": "noise", "number": 1, "calls": []}'
            channel.basic_publish("", "rpc.quota", call, unsigned)
        self._broker("delete_user", "noise")

    def give_and_take_back_credits(self) -> None:
        self._fault("gemini", "image", "reject")
        self.call("POST", "/ai/images", prompt="A loaf")
        user, token = self._new_account()
        payment = {"payment_intent": f"pi_{uuid.uuid4().hex}", "currency": "usd"}
        sold = {
            "id": f"cs_{uuid.uuid4().hex}", "payment_status": "paid", "client_reference_id": user,
            "metadata": {"credits": "500"}, "amount_total": 900,
        }  # fmt: skip
        amounts = {"amount": 900, "amount_captured": 900, "amount_refunded": 900}
        self._tell_payment("checkout.session.completed", sold | payment)
        for _ in range(4):  # the plan has 30 credits, an image costs 10
            assert self.call("POST", "/ai/images", token, prompt="A loaf").ok
        self._tell_payment("charge.refunded", {"id": f"ch_{uuid.uuid4().hex}", **amounts, **payment})

    def use_up_limits(self) -> None:
        """Uses up a free account's requests of a minute, and the demo account's webhooks and publishes of the month."""
        _, token = self._new_account()
        while self.call("GET", "/me", token).status_code != 429:
            pass
        of_demo = f"WHERE subject = '{self.env['DEMO_USER_ID']}'"
        count = "SELECT count(*) FROM deliveries WHERE state = 'skipped'"
        skipped = self.sql("webhooks", count)
        self.sql("quota", f"UPDATE counters SET webhooks = webhooks + 500000 {of_demo}")
        wait_until(lambda: self.sql("webhooks", count) != skipped, "a delivery is skipped", SEEN_SECONDS)
        self.sql(
            "quota",
            f"UPDATE counters SET webhooks = webhooks - 500000, publishes = publishes + 3000 {of_demo}",
        )
        assert (
            self.call("POST", "/posts/publish", page_id=self.env["PAGE_ID_TW"], message="Rye").status_code
            == 429
        )
        self.sql("quota", f"UPDATE counters SET publishes = publishes - 3000 {of_demo}")

    def lose_a_database(self) -> None:
        """Takes publishing's database away for some seconds."""
        with self._without_database("publishing"):
            for _ in range(10):
                self.call("GET", "/posts/scheduled")

    def lose_traces(self) -> None:
        failures = self._times_logged("gateway", "telemetry_not_sent")
        with self.without("collector"):
            wait_until(
                lambda: self._times_logged("gateway", "telemetry_not_sent") > failures,
                "the gateway cannot send its traces",
                SEEN_SECONDS,
            )

    def overflow_the_request_log(self, is_seen: Callable[[], bool]) -> None:
        """Takes the gateway's database away, and sends requests until `is_seen` finds that lines of the request log
        were dropped.

        The requests come from an address that the token does not allow, so they are logged and use no quota. One
        connection leads them all to the same process of the gateway. The library `requests` would take half the time.
        """
        create = ("token", "create", "--user", self.env["DEMO_USER_ID"], "--scopes", "read:account")
        token = self.stack.ctl(*create, "--name", "elsewhere", "--ip", ELSEWHERE)["api_token"]
        api = urlsplit(self.stack.api)
        connection = HTTPConnection(api.netloc, timeout=CALL_SECONDS)
        with self._without_database("gateway"), closing(connection):
            end = time.monotonic() + OVERFLOW_SECONDS
            while not is_seen():
                assert time.monotonic() < end, "no line of the request log was dropped"
                for _ in range(500):
                    connection.request("GET", f"{api.path}/me", headers={"Authorization": f"Bearer {token}"})
                    answer = connection.getresponse()
                    text = answer.read()
                    assert answer.status == 403, text

    @contextmanager
    def without(self, service: str) -> Iterator[None]:
        self.stack.compose("stop", "--timeout", "0", service)
        try:
            yield
        finally:
            self.stack.compose("start", service)

    @contextmanager
    def _without_database(self, name: str) -> Iterator[None]:
        self.sql("postgres", f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        try:
            self.sql(
                "postgres", f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
            )
            yield
        finally:
            self.sql("postgres", f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")

    def _times_logged(self, service: str, event: str) -> int:
        return self.stack.compose("logs", "--no-color", service).stdout.count(event)

    def _new_account(self) -> tuple[str, str]:
        """Returns the user id and the token of a free account."""
        user = self.stack.ctl(
            "user", "create", "--tier", "free", "--email", f"{uuid.uuid4().hex}@posthaste.test"
        )
        id_ = user["user"]["id"]
        made = self.stack.ctl("token", "create", "--user", id_, "--scopes", "*", "--name", "measured")
        return id_, made["api_token"]

    def _fault(self, platform: str, operation: str, mode: str) -> None:
        body = {"platform": platform, "operation": operation, "mode": mode, "times": 1}
        requests.post(
            f"{self.env['SIMULATOR_URL']}/_sim/faults", json=body, timeout=CALL_SECONDS
        ).raise_for_status()

    def _tell_payment(self, kind: str, thing: dict[str, Any]) -> None:
        """Sends a signed webhook of Stripe."""
        now, id_ = int(time.time()), f"evt_{uuid.uuid4().hex}"
        body = json.dumps(
            {"id": id_, "object": "event", "created": now, "type": kind, "data": {"object": thing}}
        )
        signed = hmac.new(STRIPE_SECRET.encode(), f"{now}.{body}".encode(), hashlib.sha256).hexdigest()
        headers = {"Stripe-Signature": f"t={now},v1={signed}", "Content-Type": "application/json"}
        url = self.stack.api.removesuffix("/api/v1") + "/hooks/stripe"
        answer = requests.post(url, body, headers=headers, timeout=CALL_SECONDS)
        assert answer.ok, answer.text

    def _broker(self, *words: str) -> None:
        self.stack.compose("exec", "-T", "rabbitmq", "rabbitmqctl", *words)

    def sql(self, database: str, statement: str) -> str:
        """Runs a statement as the administrator. Returns the rows as psql prints them."""
        argv = ("psql", "-At", "-v", "ON_ERROR_STOP=1", "-U", "posthaste", "-d", database)
        return self.stack.compose("exec", "-T", "postgres", *argv, stdin=statement).stdout
