"""Functions for the frequent steps of publishing's tests."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import text

from chassis.db import clock
from chassis.db.database import Database
from chassis.ids import new_id
from contracts import publishing as api
from contracts.caller import Caller, operator
from contracts.events import BrandRenamed, CommentReceived, Event, PostMedia
from publishing.comments import polls
from publishing.pages import linked_pages
from publishing.posts import edits, publish_now, schedule
from publishing.sending import claim_recovery, due_posts, reconciliation
from publishing.sending.context import SendingContext

ACCOUNT, BRAND = "usr_a", "brd_a"


@dataclass
class World:
    """A publishing process over a real database, with a fake platform that does what the test says."""

    app: SendingContext
    database: Database
    make_app: Callable[..., SendingContext]
    other: SendingContext | None = None

    def caller(self, operation_id: str | None = None, try_number: int = 1) -> Caller:
        operation_id = operation_id or new_id("op")
        return Caller(account_id=ACCOUNT, user_id=ACCOUNT, operation_id=operation_id, try_number=try_number)

    def page(self, platform: str = "FB", brand: str = BRAND, remote: str | None = None) -> api.Page:
        request = api.LinkPage(
            owner_account_id=ACCOUNT,
            brand_id=brand,
            brand_name="Brand",
            platform=platform,
            remote_account_id=remote or new_id("remote"),
            access_token="token",
            name="Page",
        )
        return linked_pages.link(self.app, operator(), request)

    def rename(self, name: str, at: datetime | None = None, brand: str = BRAND) -> None:
        """Handles the event that the brand got this name at `at`; None: now."""
        event = Event(
            id=new_id("evt"), event="brand.renamed", created_at=at or self.now(), account_id=ACCOUNT, brand_id=brand,
            data=msgspec.to_builtins(BrandRenamed(brand_id=brand, name=name)),
        )  # fmt: skip
        with self.app.database.transaction() as connection:
            linked_pages.on_brand_renamed(connection, event)

    def schedule(
        self,
        page: api.Page,
        at: datetime,
        message: str = "hello",
        operation_id: str | None = None,
        caller: Caller | None = None,
        **fields: Any,
    ) -> api.ScheduledPost:
        request = api.SchedulePost(page_id=page.id, scheduled_at=at, message=message, **fields)
        return schedule.schedule(self.app, caller or self.caller(operation_id), request)

    def edit(self, post: api.ScheduledPost, **fields: Any) -> api.ScheduledPost:
        return edits.edit(self.app, self.caller(), api.EditPost(id=post.id, **fields))

    def fill(self, page: api.Page, count: int) -> list[api.ScheduledPost]:
        """Schedules posts a minute apart, the first in 11 minutes. The text of a post is the page's id and a number."""
        start = self.in_minutes(11)
        return [self.schedule(page, start + timedelta(minutes=n), f"{page.id} {n}") for n in range(count)]

    def due_post(self, **fields: Any) -> api.ScheduledPost:
        """Schedules a post on a new page, and moves the clock until it is due."""
        post = self.schedule(self.page(), self.in_minutes(11), **fields)
        self.shift(660)
        return post

    def send(self, app: SendingContext | None = None) -> None:
        """Sends due posts until there are none left."""
        app = app or self.app
        while due_posts.publish_due_posts(app):
            assert app.page_queues.wait_idle(10)

    def lapse(self) -> None:
        """Ends the leases of all workers, and makes all look-ups due."""
        self.run("UPDATE workers SET lease_until = clock_timestamp()")
        self.run("UPDATE posts SET lease_until = clock_timestamp() WHERE lease_until < 'infinity'")

    def recover(self) -> int:
        """Gives back the posts that dead processes had claimed, as another process would. Returns their number."""
        self.other = self.other or self.make_app()
        self.other.lease.renew()
        return claim_recovery.recover_claims(self.other)

    def look(self, after_seconds: float = 0) -> None:
        """Looks up every post with an unknown outcome on the platform, as if it had been unknown for this time."""
        self.run(
            "UPDATE posts SET lease_until = clock_timestamp(),"
            " unknown_since = clock_timestamp() - make_interval(secs => :s) WHERE state = 'unknown'",
            s=after_seconds,
        )
        reconciliation.look_up_posts(self.app)
        assert self.app.side.wait_idle(5)

    def now(self) -> datetime:
        with self.database.reading() as connection:
            return clock.now(connection)

    def shift(self, seconds: float) -> None:
        with self.database.transaction() as connection:
            clock.set_shift(connection, clock.shift_seconds(connection) + seconds)

    def run(self, statement: str, **values: Any) -> None:
        with self.database.transaction() as connection:
            connection.execute(text(statement), values)

    def ask(self, statement: str, **values: Any) -> list[Any]:
        with self.database.reading() as connection:
            return list(connection.execute(text(statement), values).all())

    def in_minutes(self, minutes: float) -> datetime:
        return self.now().astimezone(UTC) + timedelta(minutes=minutes)

    def events(self) -> list[str]:
        return [row.event for row in self.ask("SELECT event FROM outbox ORDER BY position")]

    def told(self) -> list[CommentReceived]:
        """Returns the data of every event comment.received, in order."""
        bodies = self.ask("SELECT body FROM outbox WHERE event = 'comment.received' ORDER BY position")
        events = [msgspec.json.decode(bytes(row.body), type=Event) for row in bodies]
        return [msgspec.convert(event.data, CommentReceived) for event in events]

    def published(self, page: api.Page | None = None, **fields: Any) -> api.PublishResult:
        """Publishes a post at once."""
        return self.publish(page or self.page(), "hello", **fields)

    def publish(self, page: api.Page, message: str, **fields: Any) -> api.PublishResult:
        """Publishes a post with this text at once."""
        request = api.PublishPost(page_id=page.id, message=message, **fields)
        return publish_now.publish(self.app, self.caller(), request)

    def poll(self, app: SendingContext | None = None) -> None:
        """Makes every comment poll due and runs the polls."""
        self.run("UPDATE comment_polls SET wake_at = clock_timestamp()")
        self.poll_due(app)

    def poll_due(self, app: SendingContext | None = None) -> None:
        app = app or self.app
        polls.poll_comments(app)
        assert app.polling.wait_idle(10)

    def words(self) -> list[PostMedia]:
        """Returns the data of every event post.media, in order."""
        bodies = self.ask("SELECT body FROM outbox WHERE event = 'post.media' ORDER BY position")
        events = [msgspec.json.decode(bytes(row.body), type=Event) for row in bodies]
        return [msgspec.convert(event.data, PostMedia) for event in events]

    def revisions_of_files(self) -> list[tuple[str, tuple[str, ...], int]]:
        """Returns the state, files and revision of each event post.media, in order."""
        return [(word.state, word.media_ids, word.revision) for word in self.words()]

    def state(self, post_id: str) -> Any:
        return self.ask("SELECT * FROM posts WHERE id = :id", id=post_id)[0]
