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
#: Makes two of the oldest images, and the oldest video, jobs that are not done yet.
_GO_ON = """
    UPDATE jobs SET state = 'processing', completed_at = NULL, wake_at = clock_timestamp(), credits_charged = credits
    WHERE id IN ('job_00019997', 'job_00019999', 'job_00020000')
"""
_FETCHED = text("SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables")


@pytest.mark.parametrize(
    ("kind", "status", "brand_ids", "count", "most"),
    [(None, None, None, 20, 60), ("video", None, None, 20, 60), (None, None, ("brd_b",), 20, 200),
     ("video", None, ("brd_b", "brd_c"), 20, 200), ("image_edit", None, None, 0, 60),
     (None, None, ("brd_none",), 0, 60), (None, "processing", None, 3, 60), ("image", "processing", None, 2, 60),
     (None, "completed", None, 0, 60),
     (None, "processing", ("brd_b",), 1, 200), (None, "failed", ("brd_b",), 19, 200)],
)  # fmt: skip
def test_a_list_reads_what_it_shows(
    kind: str | None, status: str | None, brand_ids: tuple[str, ...] | None, count: int, most: int,
    database: Database,
) -> None:  # fmt: skip
    with database.transaction() as connection:
        connection.execute(text(_FILL), {"count": HISTORY})
        connection.execute(text(_GO_ON))
        connection.execute(text("ANALYZE jobs"))
    given: dict[str, Any] = {"kind": kind, "status": status, "brand_ids": brand_ids}
    with database.transaction() as connection:
        before = connection.execute(_FETCHED).scalar_one()
        shown = Jobs(connection).newest("usr_a", before=None, limit=20, **given)
        read = connection.execute(_FETCHED).scalar_one() - before
        places = [(job.created_at, job.id) for job in shown[:5][-1:]]
        rest = [
            job for at in places for job in Jobs(connection).newest("usr_a", before=at, limit=15, **given)
        ]
    assert len(shown) == count
    assert shown == sorted(shown, key=lambda job: (job.created_at, job.id), reverse=True)
    assert rest == shown[5:]
    assert all(kind in (None, job.kind) and status in (None, job.state) for job in shown)
    assert all(brand_ids is None or set(job.token_brand_ids or ("x",)) <= set(brand_ids) for job in shown)
    assert read <= most
