"""Meta's webhooks: our app's subscriptions to accounts, and signed batches of events about new comments
(docs/platforms.md, section 1).

Comments by the page itself are reported too, as Meta does. Some batches are sent twice. A batch that is not answered
with 2xx is sent again.
"""

import hashlib
import hmac
import json
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import requests

from simulator.meta.call import Call, Edge, Edges, Node
from simulator.meta.errors import invalid
from simulator.simulation import Simulation
from simulator.world import Comment, Post

#: Seconds to wait before each attempt: two minutes in all, so that tests are short. Meta continues for 36 hours.
WAITS_SECONDS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
#: Seconds for which a batch collects events, and most events in a batch. Our choice: a test can fill it; Meta's
#: batches have up to 1,000.
WINDOW_SECONDS, MOST_CHANGES = 0.1, 200
#: Timeout of a delivery in seconds. Our choice: longer than the gateway ever takes.
_ANSWER_SECONDS = 20.0

PATHS = {"FB": "facebook", "IG": "instagram"}
_OBJECTS = {"FB": "page", "IG": "instagram"}
#: Fields to which an app can subscribe. Events are sent for the first one only.
_FIELDS = {
    "FB": ("feed", "mention", "messages", "ratings"),
    "IG": ("comments", "live_comments", "mentions", "messages"),
}


@dataclass(slots=True)
class Delivery:
    """A batch of events and the state of its delivery."""

    platform: str
    comment_ids: list[str]
    body: bytes
    tries: int = 0
    #: HTTP status of the latest attempt; None if there was no response.
    status: int | None = None
    delivered: bool = False


class Hooks:
    """The app's webhook endpoint and the batches that were sent to it. Batches are only sent if both the URL and the
    secret are set.
    """

    def __init__(self, sim: Simulation) -> None:
        settings = sim.settings
        self._sim = sim
        self.url = settings.meta_webhook_url
        self.secret = settings.meta_app_secret
        self.verify_token = settings.meta_verify_token
        self._every = settings.hook_duplicates
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=16))
        self._workers = ThreadPoolExecutor(max_workers=16, thread_name_prefix="hook")
        self._lock = threading.Lock()
        self._verified: set[str] = set()
        self._given_up = threading.Event()
        self.clear()

    def clear(self) -> None:
        """Deletes all batches, and stops those that are still being sent. The endpoint and the subscriptions stay."""
        self._given_up.set()
        self._given_up = threading.Event()
        self._waiting: list[tuple[str, str, str, dict[str, Any]]] = []
        self._deliveries: list[Delivery] = []

    def aim(self, url: str, secret: str | None, verify_token: str | None) -> None:
        """Sets the URL and, if given, the secret and the verify token. Meta verifies the URL before the next batch."""
        self.url, self.secret = url, secret or self.secret
        self.verify_token = verify_token or self.verify_token
        self._verified.clear()

    def rows(self) -> list[Delivery]:
        """Returns the batches, oldest first."""
        return list(self._deliveries)

    def on_comment(self, post: Post, comment: Comment) -> None:
        """Adds an event about a new comment to the next batch. Does nothing if our app has not subscribed to the
        account's comments, or if no batches are sent because the URL or the secret is not set.
        """
        wanted = self._sim.subscriptions.get(post.account_id, ())
        if post.platform not in PATHS or _FIELDS[post.platform][0] not in wanted:
            return
        if not self.url or not self.secret:
            return
        change = _CHANGES[post.platform](post, comment)
        with self._lock:
            self._waiting.append((post.platform, post.account_id, comment.comment_id, change))
            is_first = len(self._waiting) == 1
        if is_first:
            self._workers.submit(self._gather, self._given_up)

    def _gather(self, given_up: threading.Event) -> None:
        if given_up.wait(WINDOW_SECONDS):
            return
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for platform in PATHS:
            rows = [row for row in waiting if row[0] == platform]
            for start in range(0, len(rows), MOST_CHANGES):
                self._begin(platform, rows[start : start + MOST_CHANGES], given_up)

    def _begin(
        self, platform: str, rows: list[tuple[str, str, str, dict[str, Any]]], given_up: threading.Event
    ) -> None:
        moment = int(self._sim.clock.now().timestamp())
        entries = [
            {"id": account_id, "time": moment, "changes": [row[3] for row in rows if row[1] == account_id]}
            for account_id in dict.fromkeys(row[1] for row in rows)
        ]
        # Non-ASCII characters are escaped, as by Meta. The signature is computed over exactly these bytes.
        body = json.dumps({"object": _OBJECTS[platform], "entry": entries}).encode()
        with self._lock:
            times = 2 if self._every and len(self._deliveries) % self._every == 0 else 1
            made = [Delivery(platform, [row[2] for row in rows], body) for _ in range(times)]
            self._deliveries += made
        for delivery in made:
            self._workers.submit(self._deliver, delivery, given_up)

    def _deliver(self, delivery: Delivery, given_up: threading.Event) -> None:
        for wait in WAITS_SECONDS:
            if given_up.wait(wait):
                return
            delivery.tries += 1
            try:
                delivery.status = self._try(delivery)
            except requests.RequestException:
                delivery.status = None
            if delivery.status is not None and 200 <= delivery.status < 300:
                delivery.delivered = True
                return

    def _try(self, delivery: Delivery) -> int | None:
        url = f"{self.url.rstrip('/')}/{PATHS[delivery.platform]}"
        if url not in self._verified and not self._verify(url):
            return None
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "facebookexternalua",
            "X-Hub-Signature-256": signature(delivery.body, self.secret),
        }
        with self._session.post(
            url, delivery.body, headers=headers, timeout=_ANSWER_SECONDS, allow_redirects=False
        ) as response:
            return response.status_code

    def _verify(self, url: str) -> bool:
        """Sends Meta's verification request to a URL. Returns whether it was answered with the challenge."""
        challenge = str(secrets.randbelow(10**10))
        query = {
            "hub.mode": "subscribe", "hub.challenge": challenge, "hub.verify_token": self.verify_token,
        }  # fmt: skip
        with self._session.get(url, params=query, timeout=_ANSWER_SECONDS, allow_redirects=False) as response:
            if response.status_code != 200 or response.text != challenge:
                return False
        self._verified.add(url)
        return True


def signature(body: bytes, secret: str) -> str:
    """Returns the value of the header X-Hub-Signature-256, `sha256=…`: an HMAC over the body."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def _feed_change(post: Post, comment: Comment) -> dict[str, Any]:
    value: dict[str, Any] = {
        "item": "comment", "verb": "add", "comment_id": comment.comment_id, "post_id": post.post_id,
        "parent_id": comment.parent_id or post.post_id, "message": comment.text,
        "created_time": int(comment.created_at.timestamp()),
        "post": {"id": post.post_id, "status_type": "mobile_status_update", "is_published": True},
    }  # fmt: skip
    if comment.author_id:
        value["from"] = {"id": comment.author_id, "name": comment.author}
    return {"field": "feed", "value": value}


def _comments_change(post: Post, comment: Comment) -> dict[str, Any]:
    kind = "REELS" if post.settings.get("media_type") == "REELS" else "FEED"
    value: dict[str, Any] = {
        "id": comment.comment_id, "text": comment.text,
        "from": {"id": comment.author_id, "username": comment.author},
        "media": {"id": post.post_id, "media_product_type": kind},
    }  # fmt: skip
    if comment.parent_id:
        value["parent_id"] = comment.parent_id
    return {"field": "comments", "value": value}


_CHANGES: dict[str, Callable[[Post, Comment], dict[str, Any]]] = {
    "FB": _feed_change,
    "IG": _comments_change,
}


def subscribe(call: Call, node: Node) -> dict[str, Any]:
    """Answers POST /{page}/subscribed_apps and /{ig}/subscribed_apps: subscribes our app to the given fields only."""
    wanted = tuple(name.strip() for name in call.names("subscribed_fields"))
    if not wanted:
        raise invalid("The parameter subscribed_fields is required.")
    for name in wanted:
        if name not in _FIELDS[node.platform]:
            raise invalid(
                f"Param subscribed_fields[0] must be one of {{{', '.join(_FIELDS[node.platform])}}}"
            )
    call.sim.subscriptions[node.account_id] = wanted
    return {"success": True}


def unsubscribe(call: Call, node: Node) -> dict[str, Any]:
    """Answers DELETE /{page}/subscribed_apps and /{ig}/subscribed_apps: ends our app's subscription."""
    call.sim.subscriptions.pop(node.account_id, None)
    return {"success": True}


def show_subscription(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{page}/subscribed_apps and /{ig}/subscribed_apps: our app with the fields of its subscription, if
    there is one.
    """
    wanted = call.sim.subscriptions.get(node.account_id)
    app = {"id": call.sim.settings.meta_app_id, "name": "Posthaste", "subscribed_fields": wanted}
    return {"data": [app] if wanted else []}


EDGES: Edges = {
    (method, kind, "subscribed_apps"): Edge(None, handler)
    for kind in ("Page", "IGUser")
    for method, handler in (("POST", subscribe), ("DELETE", unsubscribe), ("GET", show_subscription))
}
