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
        """Stores that a browser has come back from the platform's login to this session, and returns the session. Only
        the first return counts: returns None for every later one, and if the session has expired.

        From now on the session lasts `life_seconds`, so that a process that dies leaves no session in progress.
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
        """Stores the result of the login from which a browser came back, and keeps the session for `life_seconds`.
        Returns None if no browser's return is being handled."""
        return self._one(
            update(links)
            .where(links.c.id == link_id, links.c.state == "exchanging")
            .values(
                state=state, verifier="", expires_at=clock_now() + timedelta(seconds=life_seconds), **values
            )
            .returning(links)
        )

    def decide(self, link_id: str, state: str, values: dict[str, Any], life_seconds: float) -> LinkRow | None:
        """Stores whether the person agrees to the linking, once. Returns None for a session that does not wait for this
        decision."""
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
        """Stores that a browser that may not use this session came back to it. Returns whether it was the first."""
        statement = update(links).where(links.c.id == link_id, links.c.refused_at.is_(None))
        return self._connection.execute(statement.values(refused_at=clock_now())).rowcount == 1

    def end_of_account(self, account_id: str) -> None:
        """Deletes the account's link sessions in which the person has not yet agreed to the linking or refused it."""
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
