"""SQL of the renewal of page credentials.

Due times are by `clock_now()`, claims and waits in real time. Linking a page again raises its fencing token, so that a
renewal of the old credentials changes nothing.
"""

from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, exists, func, select, text, update

from chassis.db.clock import clock_now
from publishing.page_models import pages
from publishing.records import PageRow

_FREE = "renew_at <= clock_now() AND (renew_lease_until IS NULL OR renew_lease_until <= clock_timestamp())"
_CLAIM = """
    UPDATE pages SET renew_fence = renew_fence + 1, renew_tries = renew_tries + 1,
        renew_lease_until = clock_timestamp() + make_interval(secs => :lease)
    WHERE id IN (SELECT id FROM pages WHERE {condition} LIMIT :limit FOR UPDATE SKIP LOCKED)
    RETURNING *
    """
_CLAIM_DUE = text(_CLAIM.format(condition=f"{_FREE} ORDER BY renew_at"))
_CLAIM_ONE = text(
    _CLAIM.format(
        condition="id = :id AND unlinked_at IS NULL"
        " AND (renew_lease_until IS NULL OR renew_lease_until <= clock_timestamp())"
    )
)
_BEGIN = text(
    """
    UPDATE pages SET renew_lease_until = clock_timestamp() + make_interval(secs => :lease)
    WHERE id = :id AND renew_fence = :fence AND renew_lease_until > clock_timestamp()
    """
)
_PUT_OFF = text(
    """
    UPDATE pages SET renew_lease_until = clock_timestamp() + make_interval(secs => :wait)
    WHERE id = :id AND renew_fence = :fence
    """
)


class Renewal(NamedTuple):
    """A page that is claimed for the renewal of its credentials."""

    page: PageRow
    fence: int
    #: The number of tries since the last success, including this one.
    tries: int


class Renewals:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def claim(self, limit: int, lease_seconds: float) -> list[Renewal]:
        """Claims pages whose renewal is due, the longest waiting first."""
        return self._claimed(_CLAIM_DUE, limit=limit, lease=lease_seconds)

    def claim_one(self, page_id: str, lease_seconds: float) -> Renewal | None:
        """Claims the renewal of one page, due or not; None when it is claimed already or waits after a failure."""
        claimed = self._claimed(_CLAIM_ONE, id=page_id, limit=1, lease=lease_seconds)
        return claimed[0] if claimed else None

    def begin(self, renewal: Renewal, lease_seconds: float) -> bool:
        """Starts the lease of a renewal anew, right before the platform is called. Returns False when the claim is
        lost."""
        values = {"id": renewal.page.id, "fence": renewal.fence, "lease": lease_seconds}
        return self._connection.execute(_BEGIN, values).rowcount == 1

    def save(self, renewal: Renewal, access_token: str, renew_at: datetime | None) -> bool:
        """Stores new credentials of a page. Returns False when the claim no longer holds."""
        return self._change(
            renewal, access_token=access_token, renew_at=renew_at, renew_lease_until=None, renew_tries=0
        )

    def put_off(self, renewal: Renewal, wait_seconds: float) -> None:
        values = {"id": renewal.page.id, "fence": renewal.fence, "wait": wait_seconds}
        self._connection.execute(_PUT_OFF, values)

    def end(self, renewal: Renewal) -> bool:
        """Stores that the page's credentials are not renewed any more. Returns False when the claim no longer holds."""
        return self._change(renewal, renew_at=None, renew_lease_until=None)

    def forget(self, renewal: Renewal) -> None:
        """Erases the credentials of an unlinked page, which are not needed any more."""
        self._change(renewal, access_token="", renew_at=None, renew_lease_until=None)

    def hasten(self, page: PageRow) -> None:
        """Makes the renewal of these credentials due at once, unless the page has other credentials by now."""
        self._connection.execute(
            update(pages)
            .where(
                pages.c.id == page.id,
                pages.c.access_token == page.access_token,
                pages.c.unlinked_at.is_(None),
            )
            .values(renew_at=func.least(pages.c.renew_at, clock_now()))
        )

    def is_shared(self, page: PageRow) -> bool:
        """Whether another linked page was granted by the same login: revoking the permission would end its access too.

        True if the login is not known.
        """
        if page.grant_id is None:
            return True  # the permission is not known
        others = exists().where(
            pages.c.grant_id == page.grant_id, pages.c.id != page.id, pages.c.unlinked_at.is_(None)
        )
        return bool(self._connection.execute(select(others)).scalar_one())

    def _change(self, renewal: Renewal, **values: Any) -> bool:
        statement = (
            update(pages)
            .where(pages.c.id == renewal.page.id, pages.c.renew_fence == renewal.fence)
            .values(**values)
        )
        return self._connection.execute(statement).rowcount == 1

    def _claimed(self, statement: Any, **values: Any) -> list[Renewal]:
        rows = self._connection.execute(statement, values).mappings()
        return [Renewal(PageRow.of(row), row["renew_fence"], row["renew_tries"]) for row in rows]
