"""`./dev demo`: acts as a client of the running stack, over HTTP.

It publishes and schedules posts, answers a comment, receives a webhook, and has AI make an image and a caption. Each
step prints its request and its answer, and checks the answer. A visitor who likes and comments is simulated through the
simulator's control API.
"""

import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests

from local.demo.listener import Listener
from local.environment import read_env
from local.processes.table import NotReady, read_table, supervisor_pid
from local.stack import account
from posthaste import webhooks

#: A scheduled post goes out within seconds of its time; comments are polled every 5 s (local-stack.md).
PATIENCE_SECONDS = 30.0
CALL_SECONDS = 30.0


class Surprise(Exception):
    """Raised for an unexpected answer."""


class Journey:
    """One run of the demo. Later steps use the results of earlier ones."""

    def __init__(self, run: Path, ctl: account.Ctl, receiver: tuple[str, int] | None) -> None:
        """Prepares a run against the stack in the run directory `run`.

        `receiver`: the host and port at which the stack may deliver webhooks to us; None if it may not.
        """
        self.run = run
        self.ctl = ctl
        self.receiver = receiver
        self.env = read_env(run)
        self.steps_count = 0
        self.http = requests.Session()
        self.http.headers["Authorization"] = f"Bearer {self.env['LIVE_TOKEN']}"

    def step(self, title: str) -> None:
        self.steps_count += 1
        print(f"\n{self.steps_count}. {title}", flush=True)

    def call(self, method: str, path: str, expect: int, *, quiet: bool = False, **options: Any) -> Any:
        """Calls the API and returns the decoded body. Raises Surprise if the status is not `expect`."""
        answer = self.http.request(method, self.env["BASE_URL"] + path, timeout=CALL_SECONDS, **options)
        if not quiet or answer.status_code != expect:
            print(f"   {method} {path} → {answer.status_code}", flush=True)
        if answer.status_code != expect:
            raise Surprise(
                f"{method} {path} answered {answer.status_code} instead of {expect}: {answer.text[:1000]}"
            )
        return answer.json()

    def play(self, path: str, **body: Any) -> Any:
        """Makes the simulator do what people on the platforms would do: calls its control API. Returns the decoded
        answer. Raises Surprise if the call fails.
        """
        answer = requests.post(self.env["SIMULATOR_URL"] + path, json=body, timeout=CALL_SECONDS)
        if not answer.ok:
            raise Surprise(f"simulator: POST {path} answered {answer.status_code}: {answer.text[:1000]}")
        return answer.json() if answer.content else None

    def until(self, what: str, look: Callable[[], Any]) -> Any:
        """Calls `look` every half second until its result is true, and returns the result. Raises Surprise, with
        `what`, on timeout.
        """
        end = time.monotonic() + PATIENCE_SECONDS
        while not (found := look()):
            if time.monotonic() > end:
                raise Surprise(f"{what} did not happen within {PATIENCE_SECONDS:.0f} s")
            time.sleep(0.5)
        return found

    def walk(self) -> None:
        """Runs all steps in order."""
        self.look_around()
        published = self.publish()
        self.schedule(published)
        self.engage(published)
        with Listener(*self.receiver or ()) as listener, self.subscription(listener) as subscription:
            reply = self.converse(published)
            self.hear(listener, subscription, reply)
        self.illustrate()

    def look_around(self) -> None:
        self.step("Who am I, and which pages may I use?")
        me = self.call("GET", "/me", 200)["authenticated_as"]
        show(f"{me['email']} ({me['user_id']})")
        for page in self.call("GET", "/pages", 200)["pages"]:
            show(f"{page['platform']}  {page['name']}  {page['id']}  brand {page['brand_name']}")

    def publish(self) -> Any:
        self.step("Would this post be accepted?")
        post = {
            "page_id": self.env["PAGE_ID_FB"],
            "message": "Fresh rye from seven o'clock.",
            "media_urls": [self.env["SAMPLE_PHOTO_URL"]],
        }
        self.find_room("FB", post)
        show("yes")
        self.step("Publish it now, with a photo")
        published = self.call("POST", "/posts/publish", 201, json=post, headers=key())
        show(f"{published['post_id']} is on Facebook: {published['permalink']}")
        return published

    def find_room(self, platform: str, post: dict[str, Any]) -> None:
        """Validates a post for a page of the platform. If the page has used up its posts of this hour, links a new page
        and sets the post's `page_id` to that. Raises Surprise if the post is not valid.
        """
        verdict = self.call("POST", "/posts/validate", 200, json=post)
        if [error["code"] for error in verdict["errors"]] == ["PAGE_PUBLISH_GUARDRAIL"]:
            show(
                "not on this page: it has had its posts of the hour (spec, publish guardrails); link another"
            )
            brand = self.env["BRAND_ID"]
            post["page_id"] = self.ctl("page", "link", "--brand", brand, "--platform", platform)["id"]
            verdict = self.call("POST", "/posts/validate", 200, json=post)
        if not verdict["valid"]:
            raise Surprise(f"the post is not valid: {verdict['errors']}")

    def schedule(self, published: Any) -> None:
        self.step("Schedule another for Instagram, 11 minutes ahead, and send the request twice with one key")
        now = datetime.fromisoformat(published["published_at"])  # by the stack's clock, which may be shifted
        at = (now + timedelta(minutes=11)).isoformat(timespec="seconds").replace("+00:00", "Z")
        post = {
            "page_id": self.env["PAGE_ID_IG"],
            "message": "The night market opens at nine.",
            "media_urls": [self.env["SAMPLE_PHOTO_URL"]],
            "scheduled_at": at,
        }
        self.find_room("IG", post)
        headers = key()
        first = self.call("POST", "/posts/schedule", 201, json=post, headers=headers)["scheduled_post"]
        again = self.call("POST", "/posts/schedule", 201, json=post, headers=headers)["scheduled_post"]
        if first["id"] != again["id"]:
            raise Surprise("the repeated request made a second post")
        show(f"{first['id']} is {first['status']} for {first['scheduled_at']}; the repeat made no second one")

        self.step("Bring its time to now (./dev ctl post due) and wait until it is out")
        self.ctl("post", "due", first["id"])
        path = f"/posts/scheduled/{first['id']}"

        def out() -> Any:
            now = self.call("GET", path, 200, quiet=True)["scheduled_post"]
            if now["status"] not in ("queued", "published"):
                raise Surprise(f"the post is {now['status']}: {now.get('error')}")
            return now if now["status"] == "published" else None

        gone = self.until("the publication", out)
        show(f"published at {gone['published_at']}: {gone['permalink']}")

    def engage(self, published: Any) -> None:
        self.step("Visitors like the first post; read its engagement")
        remote = {"platform": "FB", "post_id": published["platform_post_id"]}
        self.play("/_sim/metrics", **remote, likes=12, comments=0, shares=3)
        counts = self.call("GET", f"/posts/published/{published['post_id']}/engagement", 200)["engagement"]
        if (counts["likes"], counts["shares"]) != (12, 3):
            raise Surprise(f"the counts are not what the platform says: {counts}")
        show(
            f"{counts['likes']} likes, {counts['shares']} shares, {counts['total_interactions']} interactions"
        )

    @contextmanager
    def subscription(self, listener: Listener) -> Iterator[Any]:
        """Subscribes the listener to events of replies during the block, and yields the subscription. Yields None on a
        stack that delivers no webhooks to the loopback.
        """
        self.step("Subscribe a server of our own to replies")
        body = {"name": "demo", "url": listener.url, "events": ["comment.replied"]}
        if self.receiver is None:
            show("left out: this stack was started with --strict, which refuses the loopback")
            yield None
            return
        made = self.call("POST", "/webhooks", 201, json=body, headers=key())
        show(f"{made['id']} delivers to {made['url']}; its secret, shown this once: {made['secret'][:12]}…")
        try:
            yield made
        finally:
            self.call("DELETE", f"/webhooks/{made['id']}", 200, quiet=True, headers=key())

    def hear(self, listener: Listener, subscription: Any, reply: Any) -> None:
        """Waits for the webhook delivery about the reply and verifies its signature, as a subscriber does."""
        if subscription is None:
            return
        self.step("The reply arrives at our server; verify its signature")
        delivery = listener.next(PATIENCE_SECONDS)
        if delivery is None:
            raise Surprise(f"no delivery came within {PATIENCE_SECONDS:.0f} s")
        try:
            event = webhooks.read_event(delivery.body, delivery.signature, subscription["secret"])
        except webhooks.WebhookError as error:
            raise Surprise(f"the delivery is not what it says: {error}") from error
        if event.data["reply"]["id"] != reply["id"]:
            raise Surprise(f"the delivery is about another reply: {event.data}")
        show(f"{event.event} {event.id}: “{event.data['reply']['message']}”")
        try:
            webhooks.verify(delivery.body + b" ", delivery.signature, subscription["secret"])
        except webhooks.SignatureMismatch:
            show(f"{str(delivery.signature)[:24]}… is right; with one byte more the body is refused")
        else:
            raise Surprise("an altered body was taken for genuine")

    def converse(self, published: Any) -> Any:
        self.step("A visitor comments; read it and reply")
        remote = {"platform": "FB", "post_id": published["platform_post_id"]}
        self.play("/_sim/comments", **remote, **{"from": "Kim"}, text="Do you have spelt, too?")
        where = {"post_id": published["post_id"], "page_id": published["page_id"]}

        def asked() -> Any:
            comments = self.call("GET", "/comments", 200, quiet=True, params=where)["comments"]
            return next((it for it in comments if it["text"].startswith("Do you have spelt")), None)

        comment = self.until("the comment's arrival", asked)
        show(f"{comment['from']['name']}: {comment['text']}")
        answer = {"page_id": published["page_id"], "comment_id": comment["id"], "message": "Every Friday!"}
        reply = self.call("POST", "/comments/reply", 201, json=answer, headers=key())["reply"]
        show(f"replied: {reply['message']}")
        return reply

    def illustrate(self) -> None:
        self.step("Upload a photo, have another painted and a caption written (11 credits)")
        photo = ("loaf.jpg", self.fetch_sample(), "image/jpeg")
        uploaded = self.call("POST", "/media/upload", 201, files={"file": photo})
        show(f"{uploaded['media_id']}: {uploaded['width']} × {uploaded['height']}, {uploaded['url']}")
        brief = {"prompt": "A market stall at dawn, loaves in baskets", "brand_id": self.env["BRAND_ID"]}
        painted = self.call("POST", "/ai/images", 201, json=brief, headers=key())["media"]
        picture = self.keep(painted)
        asked = {"brand_id": self.env["BRAND_ID"], "instruction": "We bake at night", "words": 25}
        caption = self.call("POST", "/ai/captions", 200, json=asked, headers=key())
        show(f"{caption['text']}  ({caption['credits']['remaining']} credits left)")

        self.step("Publish both pictures with the caption")
        media_ids = [uploaded["media_id"], painted["media_id"]]
        post = {"page_id": self.env["PAGE_ID_FB"], "message": caption["text"], "media_ids": media_ids}
        self.find_room("FB", post)
        published = self.call("POST", "/posts/publish", 201, json=post, headers=key())
        show(f"{published['post_id']} is on Facebook with {len(published['media'])} pictures")
        show(f"the painted one: {picture}")

    def fetch_sample(self) -> bytes:
        """Fetches a photo from the simulator and returns it."""
        address = urlsplit(self.env["SAMPLE_PHOTO_URL"])
        answer = requests.get(
            self.env["SIMULATOR_URL"] + address.path, headers={"Host": address.netloc}, timeout=CALL_SECONDS
        )
        answer.raise_for_status()
        return answer.content

    def keep(self, media: Any) -> Path:
        """Downloads an image from its public URL, as a platform does, and stores it for people to look at. Returns the
        path of the file.
        """
        answer = requests.get(media["url"], timeout=CALL_SECONDS)
        if answer.status_code != 200 or len(answer.content) != media["size_bytes"]:
            raise Surprise(f"{media['url']} answered {answer.status_code} and {len(answer.content)} bytes")
        path = self.run / "demo" / str(media["filename"])
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(answer.content)
        return path


def key() -> dict[str, str]:
    """Returns a header with a new idempotency key."""
    return {"Idempotency-Key": str(uuid.uuid4())}


def show(line: str) -> None:
    print(f"     {line}", flush=True)


def main(run: Path) -> int:
    """Runs the demo against the stack in the run directory. Returns the exit code: 0, or 1 if a step failed."""
    if supervisor_pid(run) is None:
        raise NotReady("nothing is running: ./dev up --detach first")
    may_deliver = any(row.env.get("WEBHOOK_ALLOWED_CIDRS") for row in read_table(run))
    journey = Journey(run, partial(account.ctl, run), ("127.0.0.1", 0) if may_deliver else None)
    begun_at = time.monotonic()
    try:
        with account.commands_in_one_process(run):
            journey.walk()
    except (Surprise, NotReady, requests.RequestException) as problem:
        print(f"\nStopped at step {journey.steps_count}: {problem}", file=sys.stderr)
        return 1
    print(f"\nAll {journey.steps_count} steps succeeded in {time.monotonic() - begun_at:.0f} s.")
    print(
        f"See what it published: {read_env(run)['DASHBOARD_URL']}/posts?tab=published (./dev up prints the login)"
    )
    return 0
