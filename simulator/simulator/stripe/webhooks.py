"""Stripe's webhooks: sends signed events, and repeats each until the endpoint answers 2xx or seven attempts have
failed.
"""

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

#: Seconds to wait before each attempt: 30 s in all, so that tests are short. Stripe continues for three days.
WAITS_SECONDS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 14.5)
#: Timeout of a delivery in seconds. Our choice: longer than the gateway ever takes.
_ANSWER_SECONDS = 10.0
_API_VERSION = "2026-09-30.preview"


@dataclass(slots=True)
class Delivery:
    """The state of the delivery of one event."""

    event_id: str
    type: str
    tries: int = 0
    #: HTTP status of the latest attempt; None if there was no response.
    status: int | None = None
    delivered: bool = False


class Webhooks:
    """The webhook endpoint and the deliveries to it. Without a URL no webhook is sent."""

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
        """Deletes all deliveries and stops those that are still being attempted. The endpoint stays."""
        self._given_up.set()
        self._given_up = threading.Event()
        self._deliveries = []

    def rows(self) -> list[Delivery]:
        """Returns the deliveries, oldest first."""
        return list(self._deliveries)

    def send(
        self, kind: str, thing: dict[str, Any], key: str | None = None, event_id: str | None = None
    ) -> str:
        """Starts to deliver an event about the object `thing`, and returns the event's id. `key` is the idempotency key
        of the request that caused the event. With `event_id`, a test can send two events with the same id.
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
    """Returns the value of the header Stripe-Signature, `t=…,v1=…`: an HMAC-SHA256 over `moment` and the body
    (docs.stripe.com/webhooks).
    """
    signed = hmac.new(secret.encode(), b"%d.%s" % (moment, body), hashlib.sha256).hexdigest()
    return f"t={moment},v1={signed}"
