"""`./dev demo --fill`: fills the demo account with three weeks of posts, comments and events, for the dashboard to
show.

Uses only the API, the operator's command line and the simulator's control API, as `./dev demo` does. The clock is set
back three weeks and moved forward from post to post; at the end it shows real time again.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote

import requests

from local.demo import story
from local.demo.journey import Journey, Surprise, key
from local.environment import read_env, write_env
from local.processes.table import NotReady, read_table, supervisor_pid
from local.stack import account

#: Set once the account is filled: a second run would find nothing to do.
DONE = "DEMO_FILLED"
_BACK = timedelta(days=21)
#: By how much the clock is moved beyond the time of an attempt.
_RESERVE = timedelta(seconds=1)
_THIRD_BRAND = "Old Mill Café"
_HOOK = "Till and stock"
_PHOTO = "market-stall.jpg"


class Filling:
    """One run of `./dev demo --fill`. It continues where an earlier run was stopped: each step does only what is not
    done yet.
    """

    def __init__(self, run: Path) -> None:
        self.run, self.walk = run, Journey(run, partial(account.ctl, run), None)
        self.now = datetime.now(UTC)
        self.shifted = timedelta()
        self.pages: dict[tuple[int, str], Any] = {}
        #: The texts of all posts of the account.
        self.written: set[str] = set()

    def fill(self) -> None:
        account.ctl(self.run, "clock", "reset")  # a run that was killed has left it in the past
        self._find_pages()
        self.written = self._texts()
        self._set_clock(-_BACK)
        try:
            with self._subscription():
                for post in story.PAST:
                    if post.text not in self.written:
                        self._go_to(post.days, post.hour)
                        self._tell(post)
        finally:
            account.ctl(self.run, "clock", "reset")
        self._fail()
        self._hold()
        self._plan()
        self._draw()
        write_env(self.run, read_env(self.run) | {DONE: "yes"})

    def _find_pages(self) -> None:
        """Reads the pages of the demo account's brands from the API, and makes a third brand with a page if it is
        missing.
        """
        env = self.walk.env
        brands = {env["BRAND_ID"]: 1, env["SECOND_BRAND_ID"]: 2}
        pages = self._call("GET", "/pages?limit=100", 200)["pages"]
        for page in pages:
            if page["brand_id"] in brands:
                self.pages.setdefault((brands[page["brand_id"]], page["platform"]), page)
        found = self._call("GET", "/brands?limit=100", 200)["brands"]
        mill = next((it["id"] for it in found if it["name"] == _THIRD_BRAND), None)
        if mill is None:
            owner = ("--user", env["DEMO_USER_ID"], "--name", _THIRD_BRAND, "--timezone", "Europe/Berlin")
            mill = account.ctl(self.run, "brand", "create", *owner)["id"]
        if all(page["brand_id"] != mill for page in pages):
            account.link_page(partial(account.ctl, self.run), mill, "IG", _THIRD_BRAND)

    def _texts(self) -> set[str]:
        """Returns the texts of all posts of the account, in any state."""
        found = set()
        for path, name in (
            ("/posts/published?limit=100", "published_posts"),
            ("/posts/scheduled?status=all&limit=100", "scheduled_posts"),
        ):
            cursor: str | None = ""
            while cursor is not None:
                listed = self._call("GET", path + cursor, 200)
                found |= {it["message"] for it in listed[name]}
                cursor = f"&cursor={quote(listed['next_cursor'])}" if listed["next_cursor"] else None
        return found

    def _set_clock(self, shift: timedelta) -> None:
        moved = shift - self.shifted
        account.ctl(self.run, "clock", "shift", str(moved.total_seconds()))
        self.shifted = shift

    def _go_to(self, days: int, hour: int) -> None:
        """Moves the clock to an hour of the day that is `days` ago. Never moves it back."""
        at = (self.now - timedelta(days=days)).replace(
            hour=hour, minute=days * 7 % 50, second=0, microsecond=0
        )
        self._set_clock(max(at - datetime.now(UTC), self.shifted))

    def _tell(self, post: story.Told) -> None:
        """Publishes a post of the story. Adds its visitors' comments, our replies to these, and its likes."""
        page = self.pages[post.brand, post.platform]
        body: dict[str, Any] = {"page_id": page["id"], "message": post.text}
        if post.with_photo:
            body["media_urls"] = [self.walk.env["SAMPLE_PHOTO_URL"]]
        if post.with_video:
            body["media_urls"] = [self.walk.env["SAMPLE_VIDEO_URL"]]
        made = self._call("POST", "/posts/publish", 201, json=body)
        remote = {"platform": post.platform, "post_id": made["platform_post_id"]}
        for visitor, text, _ in post.comments:
            self.walk.play("/_sim/comments", **remote, **{"from": visitor}, text=text)
        answers = {text: answer for _, text, answer in post.comments if answer}
        if answers:
            for comment in self._call("GET", f"/comments?post_id={made['post_id']}", 200)["comments"]:
                answer = next((told for text, told in answers.items() if text in comment["text"]), None)
                if answer:
                    reply = {"page_id": page["id"], "comment_id": comment["id"], "message": answer}
                    self._call("POST", "/comments/reply", 201, json=reply)
        if post.likes:
            self.walk.play(
                "/_sim/metrics",
                **remote,
                likes=post.likes,
                comments=len(post.comments),
                shares=post.likes // 9,
            )
            self._call("GET", f"/posts/published/{made['post_id']}/engagement", 200)
        days = f"{post.days:>2} day{'s' * (post.days > 1)} ago"
        print(f"  {days:<11}  {post.platform}  {post.text[:60]}", flush=True)

    def _schedule(self, page: Any, text: str, at: datetime, **content: Any) -> str:
        body = {"page_id": page["id"], "message": text, "scheduled_at": at.isoformat(), **content}
        post_id: str = self._call("POST", "/posts/schedule", 201, json=body)["scheduled_post"]["id"]
        return post_id

    def _await(self, post_id: str, status: str) -> None:
        look = partial(self._call, "GET", f"/posts/{post_id}", 200)
        self.walk.until(f"a post that is {status}", lambda: look()["post"]["status"] == status)

    def _fail(self) -> None:
        """Makes some posts fail, for reasons that the dashboard explains."""
        for platform, fault, text in story.FAILED:
            if text in self.written:
                continue
            page = self.pages[1, platform]
            content = {"media_urls": [self.walk.env["SAMPLE_VIDEO_URL"]]} if platform == "YT" else {}
            post_id = self._schedule(page, text, datetime.now(UTC) + timedelta(days=1), **content)
            if fault == story.EXPIRED:
                account.ctl(self.run, "page", "expire", page["id"])
            else:
                self.walk.play("/_sim/faults", platform=platform, account_id=page["account_id"], operation="publish",
                               mode=fault, times=1)  # fmt: skip
            account.ctl(self.run, "post", "due", post_id)
            self._await(post_id, "failed")
            print(f"  failed       {platform}  {text[:60]}", flush=True)

    def _hold(self) -> None:
        """Schedules a post with a token and then revokes the token, so that the post is held."""
        days, platform, text = story.HELD
        if text in self.written:
            return
        own = ("--user", self.walk.env["DEMO_USER_ID"], "--scopes", "write:posts", "--name", "Old website")
        token = account.ctl(self.run, "token", "create", *own)
        body = {
            "page_id": self.pages[1, platform]["id"],
            "message": text,
            "scheduled_at": (datetime.now(UTC) + timedelta(days=days)).isoformat(),
        }
        headers = key() | {"Authorization": f"Bearer {token['api_token']}"}
        made = self.walk.call("POST", "/posts/schedule", 201, quiet=True, headers=headers, json=body)
        account.ctl(self.run, "token", "revoke", token["token"]["id"])
        self._await(made["scheduled_post"]["id"], "held")
        print(f"  held         {platform}  {text[:60]}", flush=True)

    def _plan(self) -> None:
        """Schedules posts for the next two weeks, and cancels the last of these posts."""
        day = datetime.now(UTC).replace(minute=30, second=0, microsecond=0)
        for days, hour, brand, platform, text, with_photo in story.NEXT:
            if text in self.written:
                continue
            at = max((day + timedelta(days=days)).replace(hour=hour), day + timedelta(hours=2))
            content = {"media_urls": [self.walk.env["SAMPLE_PHOTO_URL"]]} if with_photo else {}
            last = self._schedule(self.pages[brand, platform], text, at, **content)
            if text == story.NEXT[-1][4]:
                self._call("DELETE", f"/posts/scheduled/{last}", 200)
        print(f"  {len(story.NEXT)} posts are scheduled", flush=True)

    def _draw(self) -> None:
        """Asks for an AI image and two AI captions, then uploads a photo. If the photo is there from an earlier run,
        does nothing.
        """
        if any(it["filename"] == _PHOTO for it in self._call("GET", "/media?limit=100", 200)["media"]):
            return
        brand = {"brand_id": self.walk.env["BRAND_ID"]}
        self._call(
            "POST", "/ai/images", 201, json={"prompt": "A market stall at dawn, loaves in baskets", **brand}
        )
        for wish in ("We bake at night", "The last gingerbread of the year"):
            self._call("POST", "/ai/captions", 200, json={"instruction": wish, "words": 25, **brand})
        self._call(
            "POST", "/media/upload", 201, files={"file": (_PHOTO, self.walk.fetch_sample(), "image/jpeg")}
        )

    @contextmanager
    def _subscription(self) -> Iterator[None]:
        """Subscribes a webhook receiver to events during the block, then waits for the deliveries. The receiver refuses
        every third delivery once, so that some are repeated.
        """
        if not any(row.env.get("WEBHOOK_ALLOWED_CIDRS") for row in read_table(self.run)):
            yield  # started with --strict: the loopback takes no deliveries
            return
        with _receiver() as url:
            events = ["post.published", "comment.received", "comment.replied"]
            hook = {"name": _HOOK, "url": url, "events": events}
            hooks = self._call("GET", "/webhooks?limit=100", 200)["webhooks"]
            made = next((it for it in hooks if it["name"] == _HOOK), None)
            if made is None:
                made = self._call("POST", "/webhooks", 201, json=hook)
            else:  # of a run that was stopped: its server is gone
                self._call("PATCH", f"/webhooks/{made['id']}", 200, json={"url": url})
                if made["status"] == "disabled":
                    self._call("POST", f"/webhooks/{made['id']}/enable", 200)
            yield
            self.walk.until("the deliveries", lambda: self._are_delivered(made["id"]))

    def _are_delivered(self, hook_id: str) -> bool:
        """Whether all deliveries to the subscription have ended. If deliveries wait for another attempt, moves the
        clock to the latest of these attempts, which may be half an hour ahead.
        """
        waiting = self._call("GET", f"/webhooks/{hook_id}/deliveries?status=pending&limit=100", 200)[
            "deliveries"
        ]
        times = [datetime.fromisoformat(it["next_attempt_at"]) for it in waiting if it["next_attempt_at"]]
        if times:
            self._set_clock(max(max(times) - datetime.now(UTC) + _RESERVE, self.shifted))
        return not waiting

    def _call(self, method: str, path: str, expect: int, **options: Any) -> Any:
        headers = key() if method == "POST" and "files" not in options else {}
        return self.walk.call(method, path, expect, quiet=True, headers=headers, **options)


@contextmanager
def _receiver() -> Iterator[str]:
    """Runs a server on the loopback that answers 503 to the first attempt of every third delivery.
    Yields its address.
    """
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            name = self.headers.get("webhook-id", "")
            is_first = name not in seen
            seen.append(name)
            self.send_response(503 if is_first and len(set(seen)) % 3 == 0 else 204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Does nothing, so that requests are not printed."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/till"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def main(run: Path) -> int:
    """Fills the demo account of the stack in the run directory. Returns the exit code: 0, or 1 if a step failed."""
    if supervisor_pid(run) is None:
        raise NotReady("nothing is running: ./dev up --detach first")
    env = read_env(run)
    if DONE in env:
        print(f"The demo account is filled already: {env['DASHBOARD_URL']} (./dev up prints the login)")
        return 0
    begun_at = time.monotonic()
    try:
        with account.commands_in_one_process(run):
            Filling(run).fill()
    except (Surprise, NotReady, requests.RequestException) as problem:
        print(f"\nStopped: {problem}", file=sys.stderr)
        return 1
    print(
        f"\nFilled in {time.monotonic() - begun_at:.0f} s. Look: {env['DASHBOARD_URL']} (./dev up prints the login)"
    )
    return 0
