"""What a post costs the database: row versions written from schedule to published, whatever else is in the tables."""

from collections import Counter
from typing import Any

from publishing import due
from publishing.house import House

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


def written(world: Any) -> Counter[str]:
    """Row versions by table since the last call."""
    rows = world.ask("WITH gone AS (DELETE FROM written RETURNING name) SELECT name FROM gone")
    return Counter(row.name for row in rows)


def test_a_published_post_is_eight_row_versions(world: Any, house: House, platform: Any) -> None:
    pages = [world.page() for _ in range(3)]
    house.lease.renew()
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
    world: Any, house: House, media: Any
) -> None:
    page, upload = world.page(), media.add()
    house.lease.renew()
    world.run(_NOTE_WRITES)
    world.schedule(page, world.in_minutes(11), media_ids=(upload,))
    world.shift(660)
    world.send()
    assert written(world) - Counter(clock_shift=1) == Counter(
        operations=1, posts=5, attempts=2, comment_polls=1, outbox=3
    )


def test_claims_cost_one_row_version_a_renewal_however_many_there_are(world: Any, house: House) -> None:
    for _ in range(3):
        world.fill(world.page(), 5)
    world.shift(3600)
    due.claim_lanes(house, 3)
    world.run(_NOTE_WRITES)
    house.lease.renew()
    assert written(world) == Counter(workers=1)
