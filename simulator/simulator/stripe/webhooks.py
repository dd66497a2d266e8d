"""Stripe's webhooks: signed events, delivered until the endpoint answers 2xx or the attempts are used up."""

import hashlib
import hmac
import json
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import requests

from simulator.simulation import Simulation

#: Waits before each try: 30 s in all, where Stripe goes on for three days. Our choice: nobody waits for
#: that in a test.
WAITS_SECONDS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 14.5)
#: Timeout of a delivery in seconds. Our choice: longer than the gateway ever takes.
_ANSWER_SECONDS = 10.0
_API_VERSION = "2026-09-30.preview"


@dataclass(slots=True)
class Delivery:
    """An event that is being delivered."""

    event_id: str
    type: str
    tries: int = 0
    #: Status of the latest response; None: there was no response.
    status: int | None = None
    delivered: bool = False


class Webhooks:
    """The webhook endpoint, and what was sent to it. Without a URL nothing is sent."""

    def __init__(self, sim: Simulation) -> None:
        self._clock = sim.clock
        self.url = sim.settings.stripe_webhook_url
        self.secret = sim.settings.stripe_webhook_secret
        self._session = requests.Session()
        self._session.trust_env = False
        self._workers = ThreadPoolExecutor(max_workers=8, thread_name_prefix="webhook")
        self._given_up = threading.Event()
        self._deliveries: list[Delivery] = []

    def clear(self) -> None:
        """Forgets all deliveries, also those that still run. The endpoint stays."""
        self._given_up.set()
        self._given_up = threading.Event()
        self._deliveries = []

    def rows(self) -> list[Delivery]:
        """Returns the deliveries in the order in which they began."""
        return list(self._deliveries)

    def send(
        self, kind: str, thing: dict[str, Any], key: str | None = None, event_id: str | None = None
    ) -> str:
        """Starts to deliver an event and returns its id. With the `event_id` of an earlier event that one is sent
        again.
        """
        event_id = event_id or "evt_3" + secrets.token_hex(12)
        event = {
            "id": event_id, "object": "event", "api_version": _API_VERSION,
            "created": int(self._clock.now().timestamp()), "data": {"object": thing}, "livemode": False,
            "pending_webhooks": 1, "request": {"id": "req_" + secrets.token_hex(7), "idempotency_key": key},
            "type": kind,
        }  # fmt: skip
        if self.url:
            delivery = Delivery(event_id, kind)
            self._deliveries.append(delivery)
            body = json.dumps(event, indent=2).encode()
            self._workers.submit(self._deliver, delivery, body, self._given_up)
        return event_id

    def _deliver(self, delivery: Delivery, body: bytes, given_up: threading.Event) -> None:
        for wait in WAITS_SECONDS:
            if given_up.wait(wait):
                return
            delivery.tries += 1
            headers = {
                "Content-Type": "application/json; charset=utf-8",
                "Stripe-Signature": signature(body, self.secret, int(self._clock.now().timestamp())),
                "User-Agent": "Stripe/1.0 (+https://stripe.com/docs/webhooks)",
            }
            try:
                with self._session.post(
                    self.url, body, headers=headers, timeout=_ANSWER_SECONDS, allow_redirects=False
                ) as response:
                    delivery.status = response.status_code
            except requests.RequestException:
                delivery.status = None
            if delivery.status is not None and 200 <= delivery.status < 300:
                delivery.delivered = True
                return


def signature(body: bytes, secret: str, moment: int) -> str:
    """Returns the signature `t=…,v1=…`: HMAC-SHA256 over the time and the body as it is sent
    (docs.stripe.com/webhooks)."""
    signed = hmac.new(secret.encode(), b"%d.%s" % (moment, body), hashlib.sha256).hexdigest()
    return f"t={moment},v1={signed}"
