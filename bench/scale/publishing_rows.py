"""Fills publishing's tables: pages, posts, attempts and comment polls.

Published posts come first, nearly in the order of their creation, as in production. Planned, failed and cancelled posts
follow, and at last the due posts.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from bench.scale.copying import Copier, ago, id_of, line, spread, stamp
from bench.scale.sizes import DUE_EACH, Sizes

TABLES = ("pages", "posts", "attempts", "comment_polls")
_PAGE = (
    "id", "account_id", "brand_id", "brand_name", "platform", "remote_account_id", "access_token", "name",
    "followers", "created_at",
)  # fmt: skip
_POST = (
    "id", "operation_id", "account_id", "brand_id", "page_id", "platform", "origin", "message", "media_ids",
    "media_urls", "created_at", "scheduled_at", "state", "out_at", "attempts", "fence", "remote_id", "permalink",
)  # fmt: skip
_ATTEMPT = ("post_id", "number", "fence", "began_at", "ended_at", "outcome")
_POLL = ("post_id", "page_id", "wake_at", "since", "is_full", "full_at")

#: Pages of a brand. A brand has so few posts a day that its cap refuses none.
_BRAND_PAGES = {"many": 100, "other": 10}
_MESSAGE = "Fresh bread at eight, and the first plum cake of this year"
#: One in 25 posts is neither due nor published, but planned, failed or cancelled.
_REST = 25
#: The time over which the published posts of all pages are spread, and the time between two posts of the page with the
#: long history.
_HISTORY, _GAP = timedelta(days=60), timedelta(minutes=45)
#: How long a published post has a comment poll: some two million posts of the full set have one.
_POLLED = timedelta(days=28)
#: The platforms of due posts. All of them accept a text without media.
_PLATFORMS = ("FB", "FB", "FB", "LN", "TW")


def due_created_at(now: datetime) -> datetime:
    """Returns the `created_at` of all due posts. No other post has the same."""
    return ago(now, hours=3, milliseconds=1)


class Pages:
    """The pages, by number. Their ids, accounts and brands are computed from the number.

    Page 0 has the long history. Page 1 has only three old posts, and belongs to the account with many pages. Then come
    the other pages of that account, the pages of other accounts, and at the end pages without due posts.
    """

    LONG, QUIET = 0, 1

    def __init__(self, sizes: Sizes) -> None:
        self._many = sizes.account_pages
        #: Some pages of the account with many pages have no due posts.
        self.first_due = 2 + min(50, self._many // 2)
        self.first_idle = self.first_due + sizes.due_pages
        self.count = self.first_idle + sizes.idle_pages
        self._owned: dict[int, str] = {}

    def due(self) -> range:
        return range(self.first_due, self.first_idle)

    def idle(self, number: int) -> int:
        """Returns the number of a page without due posts, another one for each run `number`."""
        return self.count - 1 - number % (self.count - self.first_idle)

    def id(self, page: int) -> str:
        return id_of("pag", page)

    def account_id(self, page: int) -> str:
        return id_of("usr", self._account(page))

    def brand_id(self, page: int) -> str:
        return id_of("brd", self._brand(page))

    def platform(self, page: int) -> str:
        return "FB" if page in (self.LONG, self.QUIET) else _PLATFORMS[page % len(_PLATFORMS)]

    def owned(self, page: int) -> str:
        """Returns account, brand, page id and platform as columns in COPY's text format."""
        found = self._owned.get(page)
        if found is None:
            found = line(self.account_id(page), self.brand_id(page), self.id(page), self.platform(page))
            self._owned[page] = found
        return found

    def _is_of_many(self, page: int) -> bool:
        return self.QUIET <= page <= self._many

    def _account(self, page: int) -> int:
        if page == self.LONG:
            return 0
        return 1 if self._is_of_many(page) else 2 + page // _BRAND_PAGES["other"]

    def _brand(self, page: int) -> int:
        if page == self.LONG:
            return 0
        if self._is_of_many(page):
            return 1 + (page - 1) // _BRAND_PAGES["many"]
        return 1_000_000 + page // _BRAND_PAGES["other"]


def fill(copier: Copier, sizes: Sizes, now: datetime, token: str) -> None:
    """Fills publishing's tables. `token` is the encrypted access token that every page gets."""
    pages = Pages(sizes)
    copier.fill("pages", _PAGE, _pages(pages, now, token))
    copier.fill("posts", _POST, post_rows(pages, sizes, now))
    copier.execute(
        f"INSERT INTO attempts ({', '.join(_ATTEMPT)})"
        " SELECT id, 1, 1, out_at, out_at, 'published' FROM posts WHERE state = 'published' ORDER BY id"
    )
    copier.execute(
        f"INSERT INTO comment_polls ({', '.join(_POLL)})"
        # after the end of the benchmark: only polls that an operation wakes are due
        " SELECT id, page_id, clock_timestamp() + interval '1 hour' * (1 + random()), out_at, false, out_at"
        f" FROM posts WHERE state = 'published' AND out_at > '{stamp(now - _POLLED)}' ORDER BY id"
    )


def _pages(pages: Pages, now: datetime, token: str) -> Iterator[str]:
    created_at = stamp(ago(now, days=200))
    for page in range(pages.count):
        yield line(
            pages.id(page), pages.account_id(page), pages.brand_id(page), "Brand", pages.platform(page),
            f"remote{page}", token, f"Page {page}", 100, created_at,
        )  # fmt: skip


def post_rows(pages: Pages, sizes: Sizes, now: datetime) -> Iterator[str]:
    """Yields the rows of all posts in COPY's text format: published posts, nearly the oldest first, then posts that are
    planned, failed or cancelled, then due posts. Ids and operation ids increase with each row.
    """
    rest = sizes.posts // _REST
    history = sizes.posts - sizes.due - sizes.page_history - rest - DUE_EACH
    yield from _merged_history(pages, history, sizes.page_history, now)
    number = sizes.posts
    for at in spread(rest, ago(now, days=2), now):
        number += 1
        yield _unsent(pages, number, at, now)
    for place in range(sizes.due):
        number += 1
        page = pages.first_due + place // DUE_EACH
        # The due times are spread over an hour, so that the pages that wait longest are not stored next to each other
        due_at = ago(now, minutes=2 + (page * 7919 % 3_400) / 60 - place % DUE_EACH / 60)
        yield _post(pages, number, page, due_created_at(now), due_at, "queued", due_at)


def _merged_history(pages: Pages, history: int, of_long: int, now: datetime) -> Iterator[str]:
    """Yields the rows of published posts, nearly in the order of their creation: those of the page with the long
    history are between those of the other pages.
    """
    first, every, number = now - _HISTORY, max(history // max(of_long, 1), 1), 0
    long_at = now - _GAP * of_long
    for at in spread(DUE_EACH, ago(now, days=50), ago(now, days=40)):
        number += 1
        yield _published(pages, number, pages.QUIET, at)
    for place, at in enumerate(spread(history, first, ago(now, minutes=5))):
        number += 1
        yield _published(pages, number, 2 + place % (pages.count - 2), at)
        if place % every == 0 and of_long:
            of_long -= 1
            number, long_at = number + 1, long_at + _GAP
            yield _published(pages, number, pages.LONG, long_at, created_at=at)
    for _ in range(of_long):
        number, long_at = number + 1, long_at + _GAP
        yield _published(pages, number, pages.LONG, long_at, created_at=now)


def _published(pages: Pages, number: int, page: int, at: datetime, created_at: datetime | None = None) -> str:
    return _post(pages, number, page, created_at or at, at, "published", at)


def _unsent(pages: Pages, number: int, at: datetime, now: datetime) -> str:
    """Returns the row of a post that is planned for the next 30 days, failed or cancelled. It is on any page but 0 and
    1.
    """
    page = 2 + number * 31 % (pages.count - 2)
    if number % 2:
        later = now + timedelta(days=2, minutes=number % 40_000)
        return _post(pages, number, page, at, later, "queued", later)
    return _post(pages, number, page, at, at, "failed" if number % 4 else "cancelled", None)


def _post(
    pages: Pages,
    number: int,
    page: int,
    created_at: datetime,
    at: datetime,
    state: str,
    out_at: datetime | None,
) -> str:
    """Returns the row of a post in COPY's text format. It does not use `line`, because that is too slow for millions
    of rows.
    """
    post_id, created, planned = id_of("pst", number, created_at), created_at.isoformat(), at.isoformat()
    out = "\\N" if out_at is None else planned if out_at is at else out_at.isoformat()
    sent = "0\t0\t\\N\t\\N"
    if state == "published":
        sent = f"1\t1\tremote{page}_{number}\thttps://platform.test/remote{page}_{number}"
    return (
        f"{post_id}\top{post_id[3:]}\t{pages.owned(page)}\tscheduled\t{_MESSAGE} {number}\t{{}}\t{{}}\t"
        f"{created}\t{planned}\t{state}\t{out}\t{sent}"
    )
