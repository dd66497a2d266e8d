"""The cost of listing files depends on what is shown, not on how many files the account has."""

import pytest
from sqlalchemy import text

from chassis.db.database import Database
from contracts.caller import Caller
from media.store.files import Files

#: Files of the account: half of them under restrictions, one per 1,000 under the restriction that is listed.
HISTORY = 20_000
_FILL = """
    INSERT INTO media (id, upload_id, account_id, brand_ids, generated, key, filename, slug, mime_type, size_bytes,
        created_at)
    SELECT 'med_' || lpad(n::text, 8, '0'), 'upl_' || n, 'usr_a',
        CASE WHEN n % 1000 = 0 THEN ARRAY['brd_b'] WHEN n % 2 = 0 THEN ARRAY['brd_' || n % 16, 'brd_x']
            ELSE '{}'::text[] END,
        false, 'key_' || n, 'a.jpg', 'a.jpg', 'image/jpeg', 1, clock_now() - make_interval(mins => n)
    FROM generate_series(1, :count) AS n
"""
_FETCHED = text("SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables")


@pytest.mark.parametrize(
    ("brand_ids", "count"), [(None, 20), (("brd_b",), 20), (("brd_b", "brd_c"), 20), (("brd_none",), 0)]
)
def test_a_list_reads_what_it_shows(
    brand_ids: tuple[str, ...] | None, count: int, database: Database
) -> None:
    with database.transaction() as connection:
        connection.execute(text(_FILL), {"count": HISTORY})
        connection.execute(text("ANALYZE media"))
    caller = Caller(account_id="usr_a", user_id="usr_a", brand_ids=brand_ids)
    with database.transaction() as connection:
        files = Files(connection)
        before = connection.execute(_FETCHED).scalar_one()
        shown, _ = files.newest(caller, None, 20)
        read = connection.execute(_FETCHED).scalar_one() - before
        last = shown[4] if shown else None
        after = last and (last.created_at, last.id)
        rest, _ = files.newest(caller, after, 15)
    assert len(shown) == count
    assert shown == sorted(shown, key=lambda row: (row.created_at, row.id), reverse=True)
    assert rest == shown[5:]
    assert all(brand_ids is None or (row.brand_ids and set(row.brand_ids) <= set(brand_ids)) for row in shown)
    assert read <= 200
