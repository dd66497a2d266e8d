"""Which pages' due posts go next: found in the order they became due, and locked for who claims them. Statements only.

The cost does not grow with the backlog: the index of queued posts is read in its order, as far as it takes to find
enough pages. No lock is waited for: what a schedule call or another process holds is left out and delays nobody else.

The queue, the caps and the locks of a page are those of the platform's page behind it: connected in several brands or
accounts, the rows in `pages` are siblings.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, text

from publishing.records import OUT, remote_page
from publishing.store.siblings import siblings_of

#: Queued posts read for each page that is wanted: most pages have a few due. Our choice.
_WINDOW_POSTS = 32
#: Each further look reads eight times as many posts as the one before, up to 100,000. Our choice.
_WIDER, _WIDEST_WINDOW = 8, 100_000
#: Looks at the queue in one claim; each leaves out the brands that the one before found locked. Our choice.
_LOOKS = 4
#: Due posts that are counted one by one; beyond that the backlog is told as this many. Our choice.
MOST_COUNTED = 5_000

#: Pages on which a scheduled post is on its way. NOT IN: read once, whatever the planner knows about the tables.
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
#: The row locks make the queues ours. More pages are named than are wanted: what other processes hold is passed over.
#: OFFSET 0: asked for one page after the other, as far as it takes, and not of all pages at once.
_LOCK_PAGES = text(
    """
    SELECT p.id, p.brand_id, p.platform, p.remote_account_id, p.expired
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
#: Asks again whether the queue is free: another worker may have claimed it before the locks were ours.
_DUE = text(
    f"""
    SELECT lane.page_id, due.id, due.out_at FROM unnest(CAST(:pages AS text[])) AS lane(page_id), LATERAL (
        SELECT id, out_at, scheduled_at FROM posts p
        WHERE p.page_id = lane.page_id AND state = 'queued' AND out_at <= clock_now()
        ORDER BY scheduled_at, id LIMIT :per_lane) due
    WHERE NOT EXISTS (
        SELECT FROM ({siblings_of("lane.page_id")}) AS sibling JOIN posts b ON b.page_id = sibling.id
        WHERE b.state = 'sending' AND b.origin = 'scheduled' OFFSET 0)
    ORDER BY lane.page_id, due.scheduled_at, due.id
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


class DueLane(NamedTuple):
    """A page with due posts, in the order they go out."""

    page_id: str
    brand_id: str
    platform: str
    expired: bool
    #: (post id, due at)
    due: list[tuple[str, datetime]]


class Locked(NamedTuple):
    """Free pages with their due posts, locked until the end of the transaction; and what was left out for its brand's
    lock: page ids by brand."""

    lanes: list[DueLane]
    contended: dict[str, list[str]]


class PageQueues:
    """The queues of pages over an open connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def lock_due(self, lanes: int, per_lane: int) -> Locked:
        """Locks up to so many free pages, those with the longest waiting post first."""
        locked: dict[str, Any] = {}
        contended: dict[str, list[str]] = {}
        passed_over: set[str] = set()
        window = lanes * _WINDOW_POSTS
        for _ in range(_LOOKS):
            without = {"brands": list(contended), "pages": [*locked, *passed_over]}
            heads = self._connection.execute(_HEADS, {**without, "window": window}).all()
            pages = self._lock_pages([head.page_id for head in heads], lanes - len(locked))
            brands = self._try(_TRY_BRANDS, {page.brand_id for page in pages})
            for page in pages:
                if page.brand_id not in brands:
                    contended.setdefault(page.brand_id, []).append(page.id)
            mine = [page for page in pages if page.brand_id in brands]
            locked |= self._try_remote_pages(mine, locked.values())
            passed_over |= {page.id for page in mine if page.id not in locked}
            is_all = sum(head.posts for head in heads) < window
            if len(locked) >= lanes or (is_all and len(mine) == len(pages)):
                break
            window = min(window * _WIDER, _WIDEST_WINDOW)
        return Locked(self._with_due(locked, per_lane), contended)

    def wait_for_brand(self, brand_id: str, wait_seconds: float) -> None:
        """Takes the brand's lock until the transaction ends. Raises SERVICE_UNAVAILABLE when it is not free in time."""
        timeout = f"{round(wait_seconds * 1000)}ms"
        self._connection.execute(_WAIT_FOR_BRAND, {"brand": brand_id, "timeout": timeout})

    def lock_pages(self, page_ids: Sequence[str], lanes: int, per_lane: int) -> Locked:
        """Locks up to so many of these pages, whose brand's lock this transaction holds."""
        locked = self._try_remote_pages(self._lock_pages(page_ids, lanes), ())
        return Locked(self._with_due(locked, per_lane), {})

    def went_out_of_pages(self, page_ids: Collection[str]) -> dict[str, list[datetime]]:
        """When posts went out in the last 24 hours, those on their way included, by page; its siblings' are among
        them."""
        return self._went_out(_WENT_OUT, page_ids)

    def went_out_of_brands(self, brand_ids: Collection[str]) -> dict[str, list[datetime]]:
        return self._went_out(_WENT_OUT_OF_BRANDS, brand_ids)

    def backlog(self) -> tuple[int, float]:
        """Posts that are due and wait to be claimed, MOST_COUNTED for more; and for how many seconds the first has."""
        count, seconds = self._connection.execute(_BACKLOG, {"most": MOST_COUNTED}).one()
        return count, float(seconds or 0)

    def _lock_pages(self, page_ids: Sequence[str], count: int) -> list[Any]:
        if not page_ids:
            return []
        return list(self._connection.execute(_LOCK_PAGES, {"pages": list(page_ids), "count": count}))

    def _try_remote_pages(self, pages: Sequence[Any], earlier: Collection[Any]) -> dict[str, Any]:
        """Of siblings the first one; those of pages that are locked already are left out."""
        known = {remote_page(page.platform, page.remote_account_id) for page in earlier}
        firsts: dict[str, Any] = {}
        for page in pages:
            if remote_page(page.platform, page.remote_account_id) not in known:
                firsts.setdefault(remote_page(page.platform, page.remote_account_id), page)
        free = self._try(_TRY_REMOTE_PAGES, firsts)
        return {page.id: page for remote, page in firsts.items() if remote in free}

    def _try(self, statement: Any, names: Collection[str]) -> set[str]:
        if not names:
            return set()
        return set(self._connection.execute(statement, {"names": list(names)}).scalars())

    def _with_due(self, pages: dict[str, Any], per_lane: int) -> list[DueLane]:
        if not pages:
            return []
        due: dict[str, list[tuple[str, datetime]]] = {}
        for row in self._connection.execute(_DUE, {"pages": list(pages), "per_lane": per_lane}):
            due.setdefault(row.page_id, []).append((row.id, row.out_at))
        return [DueLane(p, pages[p].brand_id, pages[p].platform, pages[p].expired, due[p]) for p in due]

    def _went_out(self, statement: Any, owners: Collection[str]) -> dict[str, list[datetime]]:
        rows = self._connection.execute(statement, {"owners": list(owners), "out": list(OUT)})
        return {row.owner: row.times for row in rows}
