"""Tests signed events that are sent over a real socket until they are accepted."""

import hashlib
import hmac
import json
import queue
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from flask.testing import FlaskClient

from simulator.stripe import webhooks

KEY = {"Authorization": "Bearer local-stripe-key"}
PAYMENT = {
    "amount": "900", "currency": "usd", "customer": "cus_local", "payment_method": "pm_card_visa",
    "confirm": "true", "metadata[order]": "7",
}  # fmt: skip


class Endpoint:
    """A webhook endpoint. It answers with the statuses in `answers` one after the other, then with 200."""

    def __init__(self):
        self.answers = []
        self._came = queue.Queue()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(endpoint.answers.pop(0) if endpoint.answers else 200)
                self.end_headers()
                endpoint._came.put((self.headers["Stripe-Signature"], body))

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"

    def next(self):
        """Returns the next event: its signature, its bytes and their JSON."""
        signature, body = self._came.get(timeout=30)
        return signature, body, json.loads(body)


@pytest.fixture
def endpoint(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setattr(webhooks, "WAITS_SECONDS", (0.0, 0.01, 0.01))
    endpoint = Endpoint()
    thread = threading.Thread(target=endpoint.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    answer = client.post("/_sim/stripe/webhook", json={"url": endpoint.url, "secret": "whsec_test"})
    assert answer.status_code == 200
    yield endpoint
    endpoint.server.shutdown()
    thread.join()
    endpoint.server.server_close()


def test_a_payment_is_told_with_a_signature_over_time_and_body(client, endpoint, clock):
    intent = client.post("/v1/payment_intents", data=PAYMENT, headers=KEY).get_json()
    signature, body, event = endpoint.next()
    assert (event["type"], event["data"]["object"]) == ("payment_intent.succeeded", intent)
    moment = str(int(clock.now().timestamp()))
    digest = hmac.new(b"whsec_test", moment.encode() + b"." + body, hashlib.sha256).hexdigest()
    assert signature == f"t={moment},v1={digest}"


def test_a_declined_payment_is_told_too(client, endpoint):
    declined = {**PAYMENT, "payment_method": "pm_card_chargeDeclined"}
    client.post("/v1/payment_intents", data=declined, headers={**KEY, "Idempotency-Key": "order-7"})
    _, _, event = endpoint.next()
    assert (event["type"], event["request"]["idempotency_key"]) == (
        "payment_intent.payment_failed",
        "order-7",
    )
    assert event["data"]["object"]["metadata"] == {"order": "7"}


def test_an_event_is_sent_again_until_it_is_taken(client, endpoint):
    endpoint.answers = [500, 302]
    client.post("/v1/payment_intents", data=PAYMENT, headers=KEY)
    assert len({endpoint.next()[2]["id"] for _ in range(3)}) == 1


def test_an_event_can_be_sent_twice(client, endpoint):
    body = {"type": "payment_intent.succeeded", "object": {"id": "pi_1"}, "id": "evt_1"}
    for _ in range(2):
        assert client.post("/_sim/stripe/events", json=body).get_json() == {"id": "evt_1"}
        assert endpoint.next()[2]["id"] == "evt_1"


def test_somebody_who_pays_by_a_link_is_told_as_a_checkout(client, endpoint):
    body = {"amount": 2500, "client_reference_id": "usr_1", "metadata": {"credits": "1500"}}
    answer = client.post("/_sim/stripe/checkout", json=body).get_json()
    _, _, event = endpoint.next()
    session = event["data"]["object"]
    assert (event["type"], session["id"]) == ("checkout.session.completed", answer["id"])
    assert (session["client_reference_id"], session["metadata"]) == ("usr_1", {"credits": "1500"})
    assert (session["payment_status"], session["amount_total"]) == ("paid", 2500)
    assert client.get("/_sim/payments").get_json()["charged"] == {"count": 1, "amount": 2500}


def test_without_an_address_nothing_is_sent(client):
    client.post("/v1/payment_intents", data=PAYMENT, headers=KEY)
    assert client.get("/_sim/payments").get_json()["webhooks"] == []


@pytest.mark.parametrize(
    ("path", "body"),
    [("webhook", {}), ("webhook", {"url": 1}), ("events", {"type": "x"}), ("checkout", {"amount": "9"})],
)
def test_a_control_call_that_cannot_be_is_refused(client, path, body):
    assert client.post(f"/_sim/stripe/{path}", json=body).status_code == 400
