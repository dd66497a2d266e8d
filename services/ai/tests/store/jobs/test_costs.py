"""The cost of listing jobs depends on what is shown, not on how many jobs the account has."""

from typing import Any

import pytest
from sqlalchemy import text

from ai.store.jobs import Jobs
from chassis.db.database import Database

#: Jobs of the account: images by everybody, and one video by a restricted token per 1,000.
HISTORY = 20_000
_FILL = """
    INSERT INTO jobs (id, operation_id, account_id, user_id, tier, token_brand_ids, kind, state, prompt, brief, model,
        credits, credits_charged, created_at, completed_at, fence, starts)
    SELECT 'job_' || lpad(n::text, 8, '0'), 'op_' || n, 'usr_a', 'usr_a', 'elite',
        CASE WHEN n % 1000 = 0 THEN ARRAY['brd_b'] WHEN n % 2 = 0 THEN ARRAY['brd_' || n % 16, 'brd_x'] END,
        CASE WHEN n % 1000 = 0 THEN 'video' ELSE 'image' END, 'failed', 'p', 'p', 'm', 1, 0,
        clock_now() - make_interval(mins => n), clock_now(), 1, 0
    FROM generate_series(1, :count) AS n
"""
_FETCHED = text("SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables")


@pytest.mark.parametrize(
    ("kind", "brand_ids", "count", "most"),
    [(None, None, 20, 60), ("video", None, 20, 60), (None, ("brd_b",), 20, 200), ("video", ("brd_b", "brd_c"), 20, 200),
     ("image_edit", None, 0, 60), (None, ("brd_none",), 0, 60)],
)  # fmt: skip
def test_a_list_reads_what_it_shows(
    kind: str | None, brand_ids: tuple[str, ...] | None, count: int, most: int, database: Database
) -> None:
    with database.transaction() as connection:
        connection.execute(text(_FILL), {"count": HISTORY})
        connection.execute(text("ANALYZE jobs"))
    given: dict[str, Any] = {"kind": kind, "brand_ids": brand_ids}
    with database.transaction() as connection:
        before = connection.execute(_FETCHED).scalar_one()
        shown = Jobs(connection).newest("usr_a", before=None, limit=20, **given)
        read = connection.execute(_FETCHED).scalar_one() - before
        rest = (
            Jobs(connection).newest("usr_a", before=(shown[4].created_at, shown[4].id), limit=15, **given)
            if shown
            else []
        )
    assert len(shown) == count
    assert shown == sorted(shown, key=lambda job: (job.created_at, job.id), reverse=True)
    assert rest == shown[5:]
    assert all(kind in (None, job.kind) for job in shown)
    assert all(brand_ids is None or set(job.token_brand_ids or ("x",)) <= set(brand_ids) for job in shown)
    assert read <= most
