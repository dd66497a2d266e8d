"""An application context over a real database, with a platform that does what the test says."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from cryptography.fernet import Fernet
from sqlalchemy import text

from chassis.db import clock
from chassis.db.database import Database
from chassis.ids import new_id
from contracts import publishing as api
from contracts.caller import Caller, operator
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.events import CommentReceived, Event, PostMedia
from publishing.comments import polls
from publishing.config import Settings
from publishing.pages import linked_pages
from publishing.platforms.base import (
    CommentPage,
    CommentQuery,
    Connector,
    Counts,
    NotConnected,
    NotPublished,
    OpenAttempt,
    OpenComment,
    Profile,
    Published,
    RemoteComment,
    guessed,
)
from publishing.platforms.registry import default_settings
from publishing.posts import publish_now, schedule
from publishing.sending import claim_recovery, due_posts, reconciliation
from publishing.sending.context import SendingContext

ACCOUNT, BRAND = "usr_a", "brd_a"
#: When the first visitor wrote.
VISITED_AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


@dataclass
class FakePlatform(Connector):
    """Keeps what is published, in order. `script` holds what the next publishes do instead: an exception to raise,
    after keeping the post if `kept` is true of it."""

    posts: list[tuple[str, str]] = field(default_factory=list)
    contents: list[Any] = field(default_factory=list)
    script: list[Exception] = field(default_factory=list)
    comments: list[tuple[str, str]] = field(default_factory=list)
    comment_script: list[Exception] = field(default_factory=list)
    looks: int = 0
    #: As most platforms' connectors do: without a word in the checkpoint nothing was sent, and nobody is asked.
    trusts_checkpoint: bool = False
    before: Callable[[str], None] = lambda message: None
    lock: Any = field(default_factory=threading.Lock)

    def publish(self, account: Any, content: Any, checkpoint: Any) -> Published:
        self.before(content.message)
        if self.trusts_checkpoint:
            checkpoint.save(is_sent=True)
        with self.lock:
            self.contents.append(content)
            problem = self.script.pop(0) if self.script else None
            if problem is not None and not getattr(problem, "kept", False):
                raise problem
            remote_id = f"{account.remote_account_id}_{len(self.posts)}"
            self.posts.append((remote_id, content.message))
        if problem is not None:
            raise problem
        return Published(remote_id, f"https://platform/{remote_id}")

    def look_up(self, attempt: OpenAttempt) -> Any:
        self.looks += 1
        if self.trusts_checkpoint and not attempt.checkpoint.get("is_sent"):
            return NotPublished(settled=True)
        return self.search(attempt)

    def search(self, attempt: OpenAttempt) -> Any:
        alike = [
            remote_id
            for remote_id, message in self.posts
            if message == attempt.content.message and remote_id not in attempt.known_remote_ids
        ]
        if not alike:
            return NotPublished(settled=False)
        return guessed(Published(remote_id, f"https://platform/{remote_id}") for remote_id in alike)

    def comment(self, account: Any, remote_id: str, text: str) -> str:
        return self.reply(account, remote_id, text)

    def reply(self, account: Any, comment_id: str, text: str) -> str:
        problem = self.comment_script.pop(0) if self.comment_script else None
        if problem is not None and not getattr(problem, "kept", False):
            raise problem
        self.comments.append((comment_id, text))
        if problem is not None:
            raise problem
        return f"c{len(self.comments)}"

    def find_reply(self, reply: OpenComment) -> str | None:
        for number, comment in enumerate(self.comments, 1):
            if comment == (reply.parent_id, reply.text) and f"c{number}" not in reply.known_ids:
                return f"c{number}"
        return None

    def find_comment(self, comment: OpenComment) -> str | None:
        return self.find_reply(comment)

    def list_comments(self, account: Any, query: CommentQuery) -> CommentPage:
        return CommentPage(())

    def engagement(self, account: Any, remote_id: str) -> Counts:
        return Counts(3, 2, 1)

    def profile(self, account: Any) -> Profile:
        return Profile("x", None, 0, None)

    def keep(self, problem: Exception) -> Exception:
        """For a script: the platform does it, and answers with the problem all the same."""
        problem.kept = True  # type: ignore[attr-defined]
        return problem

    @property
    def messages(self) -> list[str]:
        return [message for _, message in self.posts]


@dataclass
class Wall:
    """What visitors wrote under a post; stands in for the platform's list."""

    made: list[RemoteComment] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    #: Raised by the next calls.
    script: list[Exception] = field(default_factory=list)
    most: int = 100

    def write(self, text: str = "hi", author_id: str = "u1", parent_id: str | None = None) -> RemoteComment:
        number = len(self.made)
        comment = RemoteComment(
            f"c{number:05d}",
            text,
            author_id,
            "Ann",
            VISITED_AT + timedelta(seconds=number),
            parent_id=parent_id,
        )
        self.made.append(comment)
        return comment

    def list_comments(self, account: Any, query: CommentQuery) -> CommentPage:
        self.asked.append({"since": query.since, "cursor": query.cursor})
        if self.script:
            raise self.script.pop(0)
        rows = [one for one in reversed(self.made) if query.since is None or one.created_at > query.since]
        rows = [one for one in rows if query.cursor is None or one.id < query.cursor]
        shown = rows[: min(query.limit, self.most)]
        return CommentPage(tuple(shown), shown[-1].id if len(shown) < len(rows) else None)

    def read_comment(self, account: Any, comment_id: str) -> RemoteComment:
        self.read.append(comment_id)
        if self.script:
            raise self.script.pop(0)
        return next(one for one in self.made if one.id == comment_id)


class OneConnector:
    def __init__(self, platform: FakePlatform) -> None:
        self.platform = platform

    def connector(self, code: str) -> FakePlatform:
        if code == "TW":
            raise NotConnected(code, "twitter")
        return self.platform


@pytest.fixture
def platform() -> FakePlatform:
    return FakePlatform()


@pytest.fixture
def wall(platform: Any) -> Wall:
    wall = Wall()
    platform.list_comments, platform.read_comment = wall.list_comments, wall.read_comment
    return wall


@pytest.fixture
def settings() -> Settings:
    return Settings(
        credential_keys=(Fernet.generate_key().decode(),),
        platforms=default_settings(),
        outbound_host_map={},
        reconnect_url="https://posthaste.example/{page_id}",
        publish_window_seconds=86_400,
        reconcile_first_seconds=5,
        reconcile_settle_seconds=90,
        lease_seconds=30,
        renewal_lease_seconds=120,
        page_queues=8,
        posts_per_queue=10,
        live_calls=2,
        max_media_bytes=1_000_000,
        media_timeout_seconds=5,
        media_transfer_seconds=10,
        own_media=("http://127.0.0.1:8080/media/", "https://cdn.posthaste.example/"),
    )


@pytest.fixture
def database(open_database: Callable[[str], Database]) -> Database:
    return open_database("publishing")


@pytest.fixture
def make_app(
    database: Database,
    settings: Settings,
    media: Any,
    platform: FakePlatform,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[..., SendingContext]]:
    """`make_app()` → another process's worth of worker over the same database and platform. Its lease is renewed when
    the test says so, and it reaps others at once."""
    monkeypatch.setattr("chassis.db.leases.GRACE_SECONDS", 0.0)
    made: list[SendingContext] = []

    def make(**changed: Any) -> SendingContext:
        values = {name: getattr(settings, name) for name in settings.__struct_fields__} | changed
        made.append(SendingContext(database, Settings(**values), media, OneConnector(platform)))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for app in made:
        for pool in (app.brands, app.page_queues, app.side, app.polling):
            assert pool.wait_idle(10)
        app.lease.end()


@pytest.fixture
def app(make_app: Callable[..., SendingContext]) -> SendingContext:
    return make_app()


@pytest.fixture
def before_it_stores(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], Any]:
    """`with before_it_stores(other):` runs `other` when the next transaction is about to begin: a try has asked every
    rule by then. Other threads wait meanwhile."""
    transaction, one_at_a_time = Database.transaction, threading.RLock()

    @contextmanager
    def overtaking(other: Callable[[], Any]) -> Iterator[None]:
        to_run = [other]

        def overtaken(database: Database) -> Any:
            with one_at_a_time:
                if to_run:
                    to_run.pop()()
            return transaction(database)

        with monkeypatch.context() as patch:
            patch.setattr(Database, "transaction", overtaken)
            yield
        assert not to_run

    return overtaking


@dataclass
class World:
    """Short ways to what tests do again and again."""

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

    def fill(self, page: api.Page, count: int) -> list[api.ScheduledPost]:
        """Posts a minute apart, the first in 11 minutes; each says its page and number."""
        start = self.in_minutes(11)
        return [self.schedule(page, start + timedelta(minutes=n), f"{page.id} {n}") for n in range(count)]

    def due_post(self, **fields: Any) -> api.ScheduledPost:
        """A post of a new page whose time has come."""
        post = self.schedule(self.page(), self.in_minutes(11), **fields)
        self.shift(660)
        return post

    def send(self, app: SendingContext | None = None) -> None:
        """Runs the due worker until it has nothing to do."""
        app = app or self.app
        while due_posts.publish_due_posts(app):
            assert app.page_queues.wait_idle(10)

    def lapse(self) -> None:
        """The leases of all workers have passed, and all look-up times have come."""
        self.run("UPDATE workers SET lease_until = clock_timestamp()")
        self.run("UPDATE posts SET lease_until = clock_timestamp() WHERE lease_until < 'infinity'")

    def recover(self) -> int:
        """Another process finds what dead ones had claimed; how many posts."""
        self.other = self.other or self.make_app()
        self.other.lease.renew()
        return claim_recovery.recover_claims(self.other)

    def look(self, after_seconds: float = 0) -> None:
        """Looks at every unknown outcome, as if it had been unknown for that long."""
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
        """Every comment.received there was, in order."""
        bodies = self.ask("SELECT body FROM outbox WHERE event = 'comment.received' ORDER BY position")
        events = [msgspec.json.decode(bytes(row.body), type=Event) for row in bodies]
        return [msgspec.convert(event.data, CommentReceived) for event in events]

    def published(self, page: api.Page | None = None, **fields: Any) -> api.PublishResult:
        """A post that has just gone out at once."""
        return self.publish(page or self.page(), "hello", **fields)

    def publish(self, page: api.Page, message: str, **fields: Any) -> api.PublishResult:
        """Publishes at once."""
        request = api.PublishPost(page_id=page.id, message=message, **fields)
        return publish_now.publish(self.app, self.caller(), request)

    def poll(self, app: SendingContext | None = None) -> None:
        """Every poll for comments is due."""
        self.run("UPDATE comment_polls SET wake_at = clock_timestamp()")
        self.poll_due(app)

    def poll_due(self, app: SendingContext | None = None) -> None:
        app = app or self.app
        polls.poll_comments(app)
        assert app.polling.wait_idle(10)

    def words(self) -> list[PostMedia]:
        """What media has been told, or will be, in order."""
        bodies = self.ask("SELECT body FROM outbox WHERE event = 'post.media' ORDER BY position")
        events = [msgspec.json.decode(bytes(row.body), type=Event) for row in bodies]
        return [msgspec.convert(event.data, PostMedia) for event in events]

    def state(self, post_id: str) -> Any:
        return self.ask("SELECT * FROM posts WHERE id = :id", id=post_id)[0]


@pytest.fixture
def world(app: SendingContext, database: Database, make_app: Callable[..., SendingContext]) -> World:
    return World(app, database, make_app)


@pytest.fixture
def lose_commit(world: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From now on the next transaction is committed and its caller told that the database is away."""
    monkeypatch.setattr("publishing.sending.outcome_writer._PAUSE_SECONDS", 0.0)
    real = world.database.transaction

    @contextmanager
    def lossy() -> Iterator[Any]:
        monkeypatch.setattr(world.database, "transaction", real)
        with real() as connection:
            yield connection
        raise ApiError(SERVICE_UNAVAILABLE)

    return lambda: monkeypatch.setattr(world.database, "transaction", lossy)
