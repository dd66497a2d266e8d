"""Rows of `tokens` that are sessions."""

from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, update

from accounts.models import tokens
from chassis.db.clock import clock_now
from contracts.accounts import Session

#: decisions "Sessions": how long a session lives without being used. `TokenStore.record_use` has the same figure.
DAYS = 30

_COLUMNS = [
    tokens.c.id,
    tokens.c.name.label("user_agent"),
    func.coalesce(tokens.c.client_address, "").label("address"),
    tokens.c.created_at,
    tokens.c.last_used_at,
    tokens.c.expires_at,
]
_LIVE = tokens.c.session & tokens.c.revoked_at.is_(None) & (tokens.c.expires_at > clock_now())
#: The client knows for a day that its session was ended; then its token is unknown.
_ENDED_FOR = timedelta(days=1)


class SessionStore:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def add(self, **values: object) -> Session:
        expires_at = func.date_trunc("milliseconds", clock_now() + timedelta(days=DAYS))
        made = {"created_at": clock_now(), "expires_at": expires_at, "session": True, "sandbox": False}
        statement = insert(tokens).values(brand_ids=[], ip_allowlist=[], **made, **values)
        return _session(self.connection.execute(statement.returning(*_COLUMNS)).one())

    def list_newest_first(self, account_id: str) -> list[Session]:
        """Returns the sessions that have not ended."""
        statement = select(*_COLUMNS).where(tokens.c.account_id == account_id, _LIVE)
        rows = self.connection.execute(statement.order_by(tokens.c.created_at.desc(), tokens.c.id.desc()))
        return [_session(row) for row in rows]

    def exists(self, account_id: str, session_id: str) -> bool:
        """Whether the account has this session, also one that has ended lately."""
        statement = select(tokens.c.id).where(_of(account_id), tokens.c.id == session_id)
        return self.connection.execute(statement).first() is not None

    def end(self, account_id: str, session_id: str) -> tuple[str, ...]:
        """Ends one session. Returns the ids of those that had not ended."""
        return self._end(_of(account_id) & (tokens.c.id == session_id))

    def end_all(self, account_id: str, *, but: str = "") -> tuple[str, ...]:
        """Ends every session of the account but one. Returns the ids of those that had not ended."""
        return self._end(_of(account_id) & (tokens.c.id != but))

    def end_oldest(self, account_id: str, *, keep: int) -> tuple[str, ...]:
        """Ends all but the newest sessions. Returns their ids."""
        oldest = select(tokens.c.id).where(_of(account_id), _LIVE)
        oldest = oldest.order_by(tokens.c.created_at.desc(), tokens.c.id.desc()).offset(keep)
        return self._end(tokens.c.id.in_(oldest.scalar_subquery()))

    def delete_ended(self, *, limit: int) -> int:
        """Deletes some sessions that ended a day ago or earlier. Returns how many."""
        long_ago = clock_now() - _ENDED_FOR
        ended = (tokens.c.revoked_at < long_ago) | (tokens.c.expires_at < long_ago)
        some = select(tokens.c.id).where(tokens.c.session, ended).limit(limit)
        statement = delete(tokens).where(tokens.c.id.in_(some.scalar_subquery()))
        return self.connection.execute(statement).rowcount

    def _end(self, which: ColumnElement[bool]) -> tuple[str, ...]:
        statement = update(tokens).where(which, tokens.c.session, tokens.c.revoked_at.is_(None))
        statement = statement.values(revoked_at=clock_now())
        return tuple(self.connection.execute(statement.returning(tokens.c.id)).scalars())


def _of(account_id: str) -> ColumnElement[bool]:
    return (tokens.c.account_id == account_id) & tokens.c.session


def _session(row: Row[Any]) -> Session:
    return Session(**row._mapping)
