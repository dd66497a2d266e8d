"""The use cases of the service publishing, run in this process on one database; only the platforms are simulated."""

import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from bench.scale.copying import copying
from bench.scale.publishing_rows import TABLES, Pages, due_created_at, fill
from bench.scale.server import Opened
from bench.scale.sizes import Sizes
from chassis.ids import new_id
from contracts import publishing as api
from contracts.caller import Caller
from contracts.media import MediaApi
from publishing.config import Settings
from publishing.platforms.base import CommentPage, Connector, Counts, Profile, Published
from publishing.sending import due_posts
from publishing.sending.context import SendingContext

#: Longest time of one round of sending; the posts published by then count.
_PATIENCE_SECONDS = 60.0


class InstantPlatform(Connector):
    """A platform that accepts every post at once, and finds every post it is asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0

    def publish(self, *_given: Any, **_more: Any) -> Published:
        with self._lock:
            self.count += 1
        return Published(new_id("remote"), "https://platform.test/post")

    def look_up(self, *_given: Any, **_more: Any) -> Published:
        return Published(new_id("remote"), "https://platform.test/post")

    def comment(self, *_given: Any, **_more: Any) -> str:
        return new_id("remote")

    reply = comment

    def find_comment(self, *_given: Any, **_more: Any) -> None:
        return None

    find_reply = find_comment

    def list_comments(self, *_given: Any, **_more: Any) -> CommentPage:
        return CommentPage(())

    def engagement(self, *_given: Any, **_more: Any) -> Counts:
        return Counts(0, 0, 0)

    def profile(self, *_given: Any, **_more: Any) -> Profile:
        return Profile("Page", None, 0, None)


class _OnePlatform:
    """A table of platforms that has the same platform under every code."""

    def __init__(self, platform: InstantPlatform) -> None:
        self._platform = platform

    def __contains__(self, _code: str) -> bool:
        return True

    def __getitem__(self, _code: str) -> InstantPlatform:
        return self._platform


class Publishing(Opened):
    """publishing's database of one set, and the service's use cases on it."""

    def __init__(self, run: Path, each: str, sizes: Sizes) -> None:
        super().__init__(run, "publishing", each)
        self.sizes, self.pages = sizes, Pages(sizes)
        self.platform = InstantPlatform()
        #: Id of the post that the preparation of this run has scheduled.
        self.scheduled_id = ""
        self.app = self._make_app()
        self.seeded_at = datetime.now(UTC)
        #: The first time for which operations schedule posts, later than that of any seeded post.
        self.first_slot = datetime.now(UTC).replace(microsecond=0) + timedelta(days=40)

    def _make_app(self) -> SendingContext:
        registry: Any = _OnePlatform(self.platform)
        return SendingContext(self.database, Settings.from_env(), cast(MediaApi, None), registry)

    def seed(self) -> None:
        token = self.app.vault.encrypt("token")
        with copying(self.admin_url, TABLES) as copier:
            fill(copier, self.sizes, self.seeded_at, token)

    def caller(self, page: int) -> Caller:
        """Returns a caller for the account to which the page belongs, with a new operation id."""
        account_id = self.pages.account_id(page)
        return Caller(account_id=account_id, user_id=account_id, operation_id=new_id("op"))

    def schedule_request(self, page: int, number: int) -> api.SchedulePost:
        """Returns a request to schedule a post. Requests with successive numbers are two hours apart."""
        at = self.first_slot + timedelta(hours=2 * (number % 300))
        return api.SchedulePost(page_id=self.pages.id(page), message=f"Number {number}", scheduled_at=at)

    def wait_side(self) -> None:
        """Waits until no reconciliation is running; fails after 30 s."""
        assert self.app.side.wait_idle(30)

    def end_sending(self) -> None:
        """Marks all claimed posts as published."""
        self.run_sql(
            "UPDATE posts SET state = 'published', attempts = attempts + 1, remote_id = id WHERE state = 'sending'"
        )

    def requeue_due(self) -> None:
        """Queues the due posts that `send` has published once more, as a manual retry does."""
        self.run_sql(
            "WITH again AS (UPDATE posts SET state = 'queued', out_at = scheduled_at, remote_id = NULL,"
            " attempts_before = attempts, lease_until = NULL WHERE state IN ('published', 'sending')"
            f" AND created_at = '{due_created_at(self.seeded_at).isoformat()}' RETURNING id)"
            " DELETE FROM comment_polls p USING again WHERE p.post_id = again.id"
        )

    def send(self, count: int) -> float:
        """Publishes `count` due posts, or as many as possible in 60 s. Returns posts per second."""
        app = self._make_app()
        until, give_up_at = self.platform.count + count, time.monotonic() + _PATIENCE_SECONDS
        app.lease.keep()
        began = time.perf_counter()
        try:
            while self.platform.count < until and time.monotonic() < give_up_at:
                if not due_posts.publish_due_posts(app):
                    time.sleep(0.005)
            sent, seconds = count - max(until - self.platform.count, 0), time.perf_counter() - began
            app.page_queues.wait_idle(_PATIENCE_SECONDS)  # lets claimed posts be published, not released
        finally:
            app.finish()
        return sent / seconds

    def row_versions(self) -> int:
        """Returns how many rows have been inserted and updated so far, in all tables.

        First closes the connections that renew leases and that the pool holds: PostgreSQL counts a connection's rows
        when it ends.
        """
        self.app.lease.end()
        return super().row_versions()
