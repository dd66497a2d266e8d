"""`posthaste webhooks listen`: hands events from the delivery log to a program on this machine. No tunnel is needed."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import click
import httpx2

from posthaste import Posthaste, records
from posthaste.cli.following import follow
from posthaste.cli.session import Session, pass_session

#: The URL of a subscription whose events are only logged.
LOG_URL = "log:"
DEFAULT_EVENTS = "post.published,post.failed,comment.received,comment.replied"
#: The log is in the order of the events. A delivery that is logged this late, behind newer ones, is still found.
_LATENESS = timedelta(minutes=15)
#: Tries for one event, before it is given up. They outlast a restart of the program.
_TRIES = 20
_RECEIVER_SECONDS = 30.0


class LogFollower:
    """Reads the delivery log of a subscription, and returns each delivery only once."""

    def __init__(self, client: Posthaste, webhook_id: str) -> None:
        self._client, self._webhook_id = client, webhook_id
        self._seen: set[str] = set()
        self._newest_at: datetime | None = None

    def skip_old(self) -> None:
        """Ignores the deliveries that are in the log now."""
        first = self._client.list_deliveries(self._webhook_id, limit=100).deliveries
        self._newest_at = max((one.created_at for one in first), default=None)
        self.new()

    def new(self) -> list[records.Delivery]:
        """Returns the deliveries that no earlier call has returned, oldest first. If a call raises an exception, the
        next call returns the deliveries that it missed.
        """
        horizon = self._newest_at - _LATENESS if self._newest_at else None
        found = []
        for delivery in self._client.iterate_deliveries(self._webhook_id, limit=100):
            if horizon is not None and delivery.created_at < horizon:
                break
            if delivery.id not in self._seen:
                found.append(delivery)
        self._seen.update(one.id for one in found)
        times = [one.created_at for one in found] + ([self._newest_at] if self._newest_at else [])
        self._newest_at = max(times, default=None)
        return found[::-1]


class Forwarder:
    """Sends webhook deliveries to the program at `url`, in their order.

    A delivery is done when the program answers 2xx, or after the last permitted try. Until then it waits for the next
    call of `forward`.
    """

    def __init__(self, session: Session, webhook_id: str, url: str, http: httpx2.Client) -> None:
        self._session, self._webhook_id, self._url, self._http = session, webhook_id, url, http
        self._waiting: list[tuple[records.Delivery, int]] = []
        #: Deliveries that were acknowledged or given up.
        self.done = 0

    def add(self, deliveries: Iterable[records.Delivery]) -> None:
        self._waiting += [(one, 0) for one in deliveries]

    def forward(self) -> None:
        """Sends each waiting delivery once. A delivery that the program does not acknowledge waits for the next call,
        unless this was its last permitted try.

        Raises the exceptions of the API client. The deliveries that this call has not sent then wait for the next one.
        """
        waiting, left = self._waiting, []
        try:
            while waiting:
                delivery, tries = waiting[0]
                content = self._session.client.get_delivery(self._webhook_id, delivery.id)
                outcome = self._post(content)
                del waiting[0]
                is_over = outcome.startswith("2") or tries + 1 == _TRIES
                if tries == 0 or is_over:
                    self._tell(delivery, outcome)
                if is_over:
                    self.done += 1
                else:
                    left.append((delivery, tries + 1))
        finally:
            self._waiting = [*left, *waiting]

    def _tell(self, delivery: records.Delivery, outcome: str) -> None:
        at = time.strftime("%H:%M:%S")
        self._session.show(
            {
                "event": delivery.event,
                "event_id": delivery.event_id,
                "delivery_id": delivery.id,
                "outcome": outcome,
            },
            f"{at}  {delivery.event}  {delivery.event_id}  {outcome}",
        )

    def _post(self, content: records.DeliveryContent) -> str:
        """Sends a delivery to the program. Returns the HTTP status of the answer, or why there was no answer."""
        try:
            answer = self._http.post(self._url, content=content.body.encode(), headers=content.headers)
        except httpx2.TransportError as error:
            return f"no answer ({type(error).__name__})"
        return str(answer.status_code)


@click.group()
def webhooks() -> None:
    """Receive webhooks on this machine."""


@webhooks.command()
@click.option(
    "--forward-to", "url", required=True, help="Where your program listens: http://localhost:3000/hooks."
)
@click.option(
    "--events", default=DEFAULT_EVENTS, show_default=True, help="Which events, separated by commas."
)
@click.option("--webhook", "webhook_id", help="Listen to this subscription, instead of a new one.")
@click.option(
    "--every",
    default=2.0,
    show_default=True,
    type=click.FloatRange(min=0.1),
    help="Seconds between two polls.",
)
@click.option("--count", type=click.IntRange(min=1), help="End after this many events.")
@pass_session
def listen(
    session: Session, url: str, events: str, webhook_id: str | None, every: float, count: int | None
) -> None:
    """Hand events to a program on this machine, signed, until Ctrl-C.

    Makes a subscription that lasts until you stop the command, and prints its secret. With --webhook it follows an
    existing one instead. Each look at the log counts as a read. When the link to the server is cut, events wait in the
    log.
    """
    if not url.startswith(("http://", "https://")):
        raise click.UsageError("--forward-to is an http address, such as http://localhost:3000/hooks.")
    client = session.client
    listened_id = webhook_id or _subscribe(client, events)
    follower = LogFollower(client, listened_id)
    try:
        if webhook_id is not None:
            follower.skip_old()
        click.echo(f"Forwarding events to {url}. Ctrl-C ends it.", err=True)
        with httpx2.Client(timeout=_RECEIVER_SECONDS) as http:
            _follow(follower, Forwarder(session, listened_id, url, http), every, count)
    except KeyboardInterrupt:
        pass
    finally:
        if webhook_id is None:
            client.delete_webhook(listened_id)


def _subscribe(client: Posthaste, events: str) -> str:
    names: Any = [name.strip() for name in events.split(",") if name.strip()]
    made = client.create_webhook(name="posthaste webhooks listen", url=LOG_URL, events=names)
    click.echo(f"Signing secret: {made.secret}", err=True)
    return made.id


def _follow(follower: LogFollower, forwarder: Forwarder, every: float, count: int | None) -> None:
    def look() -> bool:
        forwarder.add(follower.new())
        forwarder.forward()
        return count is not None and forwarder.done >= count

    follow(look, every, "Events wait in the log; trying again.")


COMMANDS = (webhooks,)
