"""The number of rows that each database gets."""

from typing import NamedTuple


class Sizes(NamedTuple):
    """The numbers of rows in one set of databases. The small set has just enough for each operation to do the same
    work.
    """

    #: All posts of publishing, and those of them that are due now, `DUE_EACH` on a page. Those that were published in
    #: the last 28 of 60 days have a comment poll: two million of the full set.
    posts: int
    due: int
    #: Posts of the one page with a long history, more than a search reads at once, and pages of the one account with
    #: many.
    page_history: int
    account_pages: int
    #: Pages of other accounts on which nothing is due: what schedules, links and the like work on.
    idle_pages: int
    #: webhooks.
    deliveries: int
    endpoints: int
    #: Endpoints that fail: their deliveries wait for the next attempt.
    dead_endpoints: int
    #: quota: accounts with a counters row, and month units held by operations of the last three days.
    accounts: int
    charges: int

    @property
    def due_pages(self) -> int:
        return self.due // DUE_EACH

    def times(self, scale: float) -> "Sizes":
        """Returns the full sizes multiplied by `scale`, but none smaller than in the small set."""
        return Sizes(*(max(int(full * scale), small) for full, small in zip(self, SMALL, strict=True)))


#: Due posts of one page: all of them fit the hourly cap of every platform used here.
DUE_EACH = 3
#: The sizes for which docs/scale.md promises that nothing grows.
FULL = Sizes(
    posts=5_000_000,
    due=300_000,
    page_history=200_000,
    account_pages=50_000,
    idle_pages=20_000,
    deliveries=1_000_000,
    endpoints=20_000,
    dead_endpoints=5_000,
    accounts=200_000,
    charges=1_000_000,
)
SMALL = Sizes(
    posts=14_000,
    due=5_001,
    page_history=6_000,
    account_pages=100,
    idle_pages=400,
    deliveries=2_000,
    endpoints=40,
    dead_endpoints=10,
    accounts=400,
    charges=400,
)
