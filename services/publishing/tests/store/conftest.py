"""A context over a real database, with a platform that does what the test says."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from cryptography.fernet import Fernet
from publishing_kit.fake_media import FakeMedia
from publishing_kit.fake_platform import FakePlatform, Wall, one_connector
from publishing_kit.world import World

from chassis.db.database import Database
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from publishing.config import Settings
from publishing.platforms.registry import default_settings
from publishing.sending.context import SendingContext


@pytest.fixture
def platform() -> FakePlatform:
    return FakePlatform()


@pytest.fixture
def wall(platform: FakePlatform) -> Wall:
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
    media: FakeMedia,
    platform: FakePlatform,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[..., SendingContext]]:
    """`make_app()` returns the context of another process over the same database and platform. The test renews its
    lease. It counts others as dead as soon as their lease ends.
    """
    monkeypatch.setattr("chassis.db.leases.GRACE_SECONDS", 0.0)
    made: list[SendingContext] = []

    def make(**changed: Any) -> SendingContext:
        values = {name: getattr(settings, name) for name in settings.__struct_fields__} | changed
        made.append(SendingContext(database, Settings(**values), media, one_connector(platform)))
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
    """`with before_it_stores(other):` runs `other` when the next transaction is about to begin. Other threads wait
    meanwhile.

    At that moment a try has checked all rules and has stored nothing yet.
    """
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


@pytest.fixture
def world(app: SendingContext, database: Database, make_app: Callable[..., SendingContext]) -> World:
    return World(app, database, make_app)


@pytest.fixture
def lose_commit(world: World, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """`lose_commit()` makes the next transaction commit and then raise SERVICE_UNAVAILABLE, as if its answer were
    lost.
    """
    monkeypatch.setattr("publishing.sending.outcome_writer._PAUSE_SECONDS", 0.0)
    real = world.database.transaction

    @contextmanager
    def lossy() -> Iterator[Any]:
        monkeypatch.setattr(world.database, "transaction", real)
        with real() as connection:
            yield connection
        raise ApiError(SERVICE_UNAVAILABLE)

    return lambda: monkeypatch.setattr(world.database, "transaction", lossy)
