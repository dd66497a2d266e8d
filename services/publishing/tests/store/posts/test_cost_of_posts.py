"""What a post costs the database from schedule to published: the row versions written, however much the tables hold."""

from collections import Counter
from typing import Any

import pytest
from publishing_kit.fake_media import FakeMedia
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World
from sqlalchemy import event

from chassis.db import database
from contracts import publishing as api
from publishing.posts import schedule
from publishing.sending import due_posts
from publishing.sending.context import SendingContext
from publishing.store import posts as store

_NOTE_WRITES = """
    CREATE TABLE written (name text);
    CREATE FUNCTION note_write() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO written VALUES (TG_TABLE_NAME); RETURN NULL; END $$;
    DO $$ DECLARE name text; BEGIN
        FOR name IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
                AND relname <> 'written' LOOP
            EXECUTE format('CREATE TRIGGER note_write AFTER INSERT OR UPDATE ON %I FOR EACH ROW'
                ' EXECUTE FUNCTION note_write()', name);
        END LOOP;
    END $$
    """


def written(world: World) -> Counter[str]:
    """Returns how many row versions of each table were written since the last call."""
    rows = world.ask("WITH gone AS (DELETE FROM written RETURNING name) SELECT name FROM gone")
    return Counter(row.name for row in rows)


def test_a_published_post_is_eight_row_versions(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    pages = [world.page() for _ in range(3)]
    app.lease.renew()
    world.run(_NOTE_WRITES)
    for page in pages:
        world.fill(page, 2)
    world.shift(3600)
    written_before = written(world)
    world.send()
    assert len(platform.posts) == 6
    assert (written_before + written(world)) - Counter(clock_shift=1) == Counter(
        operations=6, posts=3 * 6, attempts=2 * 6, comment_polls=6, outbox=6
    )


def test_an_upload_adds_a_revision_and_an_event_when_stored_and_when_sent(
    world: World, app: SendingContext, media: FakeMedia
) -> None:
    page, upload = world.page(), media.add()
    app.lease.renew()
    world.run(_NOTE_WRITES)
    world.schedule(page, world.in_minutes(11), media_ids=(upload,))
    world.shift(660)
    world.send()
    assert written(world) - Counter(clock_shift=1) == Counter(
        operations=1, posts=5, attempts=2, comment_polls=1, outbox=3
    )


def test_claims_cost_one_row_version_a_renewal_however_many_there_are(
    world: World, app: SendingContext
) -> None:
    for _ in range(3):
        world.fill(world.page(), 5)
    world.shift(3600)
    due_posts.claim_queues(app, 3)
    world.run(_NOTE_WRITES)
    app.lease.renew()
    assert written(world) == Counter(workers=1)


def test_a_schedule_is_two_messages_to_the_database(
    world: World, app: SendingContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first message holds BEGIN, the locks, and the reads of the page, the time and the guardrails' counts. The
    second stores the post and commits.
    """
    page, at = world.page(), world.in_minutes(20)
    world.schedule(page, at)  # prepares the statements
    sent: list[str] = []
    send = database.fetch

    def noting(connection: Any, statement: str, parameters: Any = None) -> Any:
        sent.append(statement)
        return send(connection, statement, parameters)

    for module in (database, store):
        monkeypatch.setattr(module, "fetch", noting)
    event.listen(world.database.engine, "before_cursor_execute", lambda *arguments: sent.append(arguments[2]))
    request = api.SchedulePost(page_id=page.id, scheduled_at=world.in_minutes(30), message="hello")
    caller = world.caller()
    del sent[:]
    schedule.schedule(app, caller, request)
    assert len(sent) == 2
