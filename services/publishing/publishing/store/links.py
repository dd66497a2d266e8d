"""SQL of link sessions. Times are by `clock_now()`."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, select, update
from sqlalchemy.dialects.postgresql import insert

from chassis.db.clock import clock_now
from chassis.ids import is_id
from publishing.page_models import links
from publishing.records import Row


class LinkRow(Row):
    """A row of the table of link sessions. `page_models.links` explains the columns."""

    id: str
    account_id: str
    brand_id: str
    brand_name: str
    platform: str
    verifier: str
    state: str
    found: str | None
    error_code: str | None
    error_message: str | None
    created_at: datetime
    expires_at: datetime
    browser: str | None
    unconfirmed: str | None
    account_name: str | None
    return_url: str | None
    account_type: str | None


class Links:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, values: dict[str, Any], life_seconds: float) -> LinkRow:
        now = clock_now()
        statement = insert(links).values(
            state="pending", created_at=now, expires_at=now + timedelta(seconds=life_seconds), **values
        )
        row = self._connection.execute(statement.returning(links)).mappings().one()
        return LinkRow.of(row)

    def get(self, link_id: str, *, lock: bool = False) -> LinkRow | None:
        """Returns a session that has not expired, or None; `lock` locks it until the transaction ends."""
        if not is_id(link_id):
            return None
        statement = select(links).where(links.c.id == link_id, links.c.expires_at > clock_now())
        return self._one(statement.with_for_update() if lock else statement)

    def take(self, link_id: str, platform: str | None, browser: str, life_seconds: float) -> LinkRow | None:
        """Claims the first return of a browser from the platform's login to this session, and returns the session.
        Returns None for every later return, and if the session has expired.

        The session expires after `life_seconds`, so that a process that dies leaves no session in progress.
        """
        if not is_id(link_id):
            return None
        return self._one(
            update(links)
            .where(links.c.id == link_id, links.c.platform == platform)
            .where(links.c.state == "pending", links.c.expires_at > clock_now())
            .values(
                state="exchanging",
                browser=browser,
                expires_at=clock_now() + timedelta(seconds=life_seconds),
            )
            .returning(links)
        )

    def end(self, link_id: str, state: str, values: dict[str, Any], life_seconds: float) -> LinkRow | None:
        """Stores the result of a browser's return and keeps the session for `life_seconds`. Returns None if no return
        is in progress."""
        return self._one(
            update(links)
            .where(links.c.id == link_id, links.c.state == "exchanging")
            .values(
                state=state, verifier="", expires_at=clock_now() + timedelta(seconds=life_seconds), **values
            )
            .returning(links)
        )

    def decide(self, link_id: str, state: str, values: dict[str, Any], life_seconds: float) -> LinkRow | None:
        """Stores the person's decision, once. Returns None for a session that does not wait for a decision."""
        return self._one(
            update(links)
            .where(links.c.id == link_id, links.c.state == "exchanging", links.c.unconfirmed.is_not(None))
            .values(
                state=state,
                unconfirmed=None,
                expires_at=clock_now() + timedelta(seconds=life_seconds),
                **values,
            )
            .returning(links)
        )

    def note_refused(self, link_id: str) -> bool:
        """Notes that another browser came back to this session. Returns whether it was the first time."""
        statement = update(links).where(links.c.id == link_id, links.c.refused_at.is_(None))
        return self._connection.execute(statement.values(refused_at=clock_now())).rowcount == 1

    def end_of_account(self, account_id: str) -> None:
        """Deletes the account's link sessions in which the person has not decided yet."""
        self._connection.execute(
            delete(links).where(
                links.c.account_id == account_id, links.c.state.in_(("pending", "exchanging"))
            )
        )

    def save_found(self, link_id: str, found: str) -> None:
        self._connection.execute(update(links).where(links.c.id == link_id).values(found=found))

    def forget_old(self, limit: int) -> int:
        """Removes up to `limit` expired link sessions. Returns how many it removed."""
        old = select(links.c.id).where(links.c.expires_at <= clock_now()).limit(limit)
        return self._connection.execute(
            delete(links).where(links.c.id.in_(old.with_for_update(skip_locked=True)))
        ).rowcount

    def _one(self, statement: Any) -> LinkRow | None:
        row = self._connection.execute(statement).mappings().first()
        return LinkRow.of(row) if row else None
