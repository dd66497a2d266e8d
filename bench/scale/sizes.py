"""The number of rows in the small and in the full set of databases."""

from typing import NamedTuple


class Sizes(NamedTuple):
    """The numbers of rows in one set of databases. The small set has just enough rows for each operation to do the
    same work as in the full one.
    """

    #: All posts, and the due ones, of which each page has `DUE_EACH`. Posts published in the last 28 of 60 days have a
    #: comment poll: two million of the full set.
    posts: int
    due: int
    #: Posts of the page with the long history, which are more than a search reads at once. Pages of the account with
    #: many pages.
    page_history: int
    account_pages: int
    #: Pages without due posts, for operations such as scheduling and linking.
    idle_pages: int
    #: The rows of webhooks: deliveries and endpoints.
    deliveries: int
    endpoints: int
    #: Endpoints that fail all the time. Their deliveries wait for the next attempt.
    dead_endpoints: int
    #: The rows of quota: accounts with counters, and unit charges of the last three days.
    accounts: int
    charges: int

    @property
    def due_pages(self) -> int:
        return self.due // DUE_EACH

    def times(self, scale: float) -> "Sizes":
        """Returns these sizes multiplied by `scale`, but none smaller than in the small set."""
        return Sizes(*(max(int(full * scale), small) for full, small in zip(self, SMALL, strict=True)))


#: Due posts of a page: so few that no hourly cap refuses one.
DUE_EACH = 3
#: docs/scale.md promises that operations cost the same up to these sizes.
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
