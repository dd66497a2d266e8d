"""SQL of page queues: finds the pages whose due posts are sent next, and locks them for a claim.

The cost does not grow with the backlog: the index of queued posts is read in order of due time until enough pages are
found. Only `wait_for_brand` waits for a lock: pages that a schedule call or another process has locked are left out.

Queue, caps and locks belong to the page on the platform. If it is linked in several brands or accounts, its rows in
`pages` are siblings and share them.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, text

from publishing.records import OUT, PageRow, column_names
from publishing.store.siblings import siblings_of

#: Queued posts read for each wanted page: most pages have fewer due posts.
_WINDOW_POSTS = 32
#: Each further read takes eight times as many posts, up to 100,000: one page with a long queue hides the others.
_WIDER, _WIDEST_WINDOW = 8, 100_000
#: Reads of the queue in one claim. Each read leaves out the brands that the previous one found locked; after four, the
#: next tick goes on.
_LOOKS = 4
#: Due posts that the backlog metric counts one by one; a larger backlog is reported as this many, so that counting
#: stays cheap.
MOST_COUNTED = 5_000

#: Pages on which a scheduled post is being sent. NOT IN: read once, whatever the planner knows about the tables.
_BUSY = "SELECT page_id FROM posts WHERE state = 'sending' AND origin = 'scheduled'"
_HEADS = text(
    f"""
    SELECT page_id, count(*) AS posts FROM (
        SELECT page_id, out_at FROM posts
        WHERE state = 'queued' AND out_at <= clock_now() AND page_id NOT IN ({_BUSY})
            AND brand_id <> ALL(:brands) AND page_id <> ALL(:pages)
        ORDER BY out_at LIMIT :window) AS due
    GROUP BY page_id ORDER BY min(out_at)
    """
)
#: The row locks claim the queues. More pages are given than wanted, because those that other processes hold are
#: skipped. OFFSET 0 makes the planner test page after page until enough are found, instead of all pages at once.
_LOCK_PAGES = text(
    f"""
    SELECT {", ".join(f"p.{name}" for name in column_names(PageRow))}
    FROM unnest(CAST(:pages AS text[])) WITH ORDINALITY AS head(id, place) JOIN pages p ON p.id = head.id
    WHERE NOT EXISTS (
        SELECT FROM pages s JOIN posts b ON b.page_id = s.id
        WHERE s.remote_account_id = p.remote_account_id AND s.platform = p.platform AND s.id <> p.id
            AND b.state = 'sending' AND b.origin = 'scheduled' OFFSET 0)
    ORDER BY head.place LIMIT :count FOR NO KEY UPDATE OF p SKIP LOCKED
    """
)
_WAIT_FOR_BRAND = text(
    "SELECT set_config('lock_timeout', :timeout, true), pg_advisory_xact_lock(hashtextextended(:brand, 0))"
)
_TRY_BRANDS = text(
    "SELECT b FROM unnest(CAST(:names AS text[])) AS b WHERE pg_try_advisory_xact_lock(hashtextextended(b, 0))"
)
_TRY_REMOTE_PAGES = text(
    "SELECT r FROM unnest(CAST(:names AS text[])) AS r WHERE pg_try_advisory_xact_lock(hashtextextended(r, 2))"
)
#: Tests again whether the queue is free: another worker may have claimed it before the locks were taken.
_DUE = text(
    f"""
    SELECT queue.page_id, due.id, due.out_at FROM unnest(CAST(:pages AS text[])) AS queue(page_id), LATERAL (
        SELECT id, out_at, scheduled_at FROM posts p
        WHERE p.page_id = queue.page_id AND state = 'queued' AND out_at <= clock_now()
        ORDER BY scheduled_at, id LIMIT :per_queue) due
    WHERE NOT EXISTS (
        SELECT FROM ({siblings_of("queue.page_id")}) AS sibling JOIN posts b ON b.page_id = sibling.id
        WHERE b.state = 'sending' AND b.origin = 'scheduled' OFFSET 0)
    ORDER BY queue.page_id, due.scheduled_at, due.id
    """
)
_BACKLOG = text(
    """
    SELECT (SELECT count(*) FROM (
            SELECT FROM posts WHERE state = 'queued' AND out_at <= clock_now() ORDER BY out_at LIMIT :most) AS due),
        (SELECT extract(epoch FROM clock_now() - out_at) FROM posts
            WHERE state = 'queued' AND out_at <= clock_now() ORDER BY out_at LIMIT 1)
    """
)
_WENT_OUT = text(
    f"""
    SELECT owner, array_agg(p.out_at) AS times
    FROM unnest(CAST(:owners AS text[])) AS owner, LATERAL ({siblings_of("owner")}) AS sibling
        JOIN posts p ON p.page_id = sibling.id
    WHERE p.state = ANY(:out) AND p.out_at > clock_now() - interval '1 day' GROUP BY 1
    """
)
_WENT_OUT_OF_BRANDS = text(
    """
    SELECT brand_id AS owner, array_agg(out_at) AS times FROM posts
    WHERE brand_id = ANY(:owners) AND state = ANY(:out) AND out_at > clock_now() - interval '1 day' GROUP BY 1
    """
)


class DueQueue(NamedTuple):
    """A page with its due posts, in the order in which they are sent."""

    page: PageRow
    #: (post id, due at)
    due: list[tuple[str, datetime]]


class Locked(NamedTuple):
    """Pages with due posts (`queues`), locked for a claim until the transaction ends. `contended` has, by brand, the
    ids of the pages that were left out because another transaction has locked their brand."""

    queues: list[DueQueue]
    contended: dict[str, list[str]]


class PageQueues:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def lock_due(self, count: int, per_queue: int) -> Locked:
        """Locks up to `count` pages that have due posts, those with the longest waiting post first. Skips pages for
        which a scheduled post is being sent, and pages or brands that another transaction has locked.
        """
        locked: dict[str, PageRow] = {}
        contended: dict[str, list[str]] = {}
        passed_over: set[str] = set()
        window = count * _WINDOW_POSTS
        for _ in range(_LOOKS):
            without = {"brands": list(contended), "pages": [*locked, *passed_over]}
            heads = self._connection.execute(_HEADS, {**without, "window": window}).all()
            pages = self._lock_pages([head.page_id for head in heads], count - len(locked))
            brands = self._try(_TRY_BRANDS, {page.brand_id for page in pages})
            for page in pages:
                if page.brand_id not in brands:
                    contended.setdefault(page.brand_id, []).append(page.id)
            mine = [page for page in pages if page.brand_id in brands]
            locked |= self._try_remote_pages(mine, locked.values())
            passed_over |= {page.id for page in mine if page.id not in locked}
            is_all = sum(head.posts for head in heads) < window
            if len(locked) >= count or (is_all and len(mine) == len(pages)):
                break
            window = min(window * _WIDER, _WIDEST_WINDOW)
        return Locked(self._with_due(locked, per_queue), contended)

    def wait_for_brand(self, brand_id: str, wait_seconds: float) -> None:
        """Takes the brand's lock until the transaction ends. Raises SERVICE_UNAVAILABLE when it is not free in time."""
        timeout = f"{round(wait_seconds * 1000)}ms"
        self._connection.execute(_WAIT_FOR_BRAND, {"brand": brand_id, "timeout": timeout})

    def lock_pages(self, page_ids: Sequence[str], count: int, per_queue: int) -> Locked:
        """Locks up to `count` of these pages for a claim, and returns them with up to `per_queue` due posts each.

        Leaves out pages without due posts, pages for which a scheduled post is being sent, and pages that another
        transaction has locked. All pages belong to one brand, whose lock this transaction must hold (`wait_for_brand`).
        """
        locked = self._try_remote_pages(self._lock_pages(page_ids, count), ())
        return Locked(self._with_due(locked, per_queue), {})

    def went_out_of_pages(self, page_ids: Collection[str]) -> dict[str, list[datetime]]:
        """Returns, by page, the times at which posts were sent in the last 24 hours. Includes posts that are being sent
        now, and posts of other brands' connections to the same page of the platform."""
        return self._went_out(_WENT_OUT, page_ids)

    def went_out_of_brands(self, brand_ids: Collection[str]) -> dict[str, list[datetime]]:
        return self._went_out(_WENT_OUT_OF_BRANDS, brand_ids)

    def backlog(self) -> tuple[int, float]:
        """Returns how many due posts wait, MOST_COUNTED at most, and for how many seconds the first one has waited."""
        count, seconds = self._connection.execute(_BACKLOG, {"most": MOST_COUNTED}).one()
        return count, float(seconds or 0)

    def _lock_pages(self, page_ids: Sequence[str], count: int) -> list[PageRow]:
        if not page_ids:
            return []
        rows = self._connection.execute(_LOCK_PAGES, {"pages": list(page_ids), "count": count})
        return [PageRow.of(row) for row in rows.mappings()]

    def _try_remote_pages(self, pages: Sequence[PageRow], earlier: Collection[PageRow]) -> dict[str, PageRow]:
        """Locks those of the pages that no other transaction has locked, and returns them by id. Of siblings (the same
        page on the platform) locks only the first one, and none if a sibling is in `earlier`."""
        known = {page.remote_page for page in earlier}
        firsts: dict[str, PageRow] = {}
        for page in pages:
            if page.remote_page not in known:
                firsts.setdefault(page.remote_page, page)
        free = self._try(_TRY_REMOTE_PAGES, firsts)
        return {page.id: page for remote, page in firsts.items() if remote in free}

    def _try(self, statement: Any, names: Collection[str]) -> set[str]:
        if not names:
            return set()
        return set(self._connection.execute(statement, {"names": list(names)}).scalars())

    def _with_due(self, pages: dict[str, PageRow], per_queue: int) -> list[DueQueue]:
        if not pages:
            return []
        due: dict[str, list[tuple[str, datetime]]] = {}
        for row in self._connection.execute(_DUE, {"pages": list(pages), "per_queue": per_queue}):
            due.setdefault(row.page_id, []).append((row.id, row.out_at))
        return [DueQueue(pages[page_id], posts) for page_id, posts in due.items()]

    def _went_out(self, statement: Any, owners: Collection[str]) -> dict[str, list[datetime]]:
        rows = self._connection.execute(statement, {"owners": list(owners), "out": list(OUT)})
        return {row.owner: row.times for row in rows}
