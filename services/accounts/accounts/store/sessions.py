"""Reads and writes those rows of `tokens` that are sessions.

They are a person's own sessions, and brand sessions opened from them (children), with which the person works on a brand
of another account.
"""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, tuple_, update

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
_OWN = tokens.c.parent_id.is_(None)
#: The client knows for a day that its session was ended; then its token is unknown.
_ENDED_FOR = timedelta(days=1)


class SessionStore:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def add(self, **values: object) -> Session:
        made = {"created_at": clock_now(), "expires_at": _end(), "session": True, "sandbox": False}
        statement = insert(tokens).values(ip_allowlist=[], **{"brand_ids": []} | made | values)
        return _session(self.connection.execute(statement.returning(*_COLUMNS)).one())

    def list_newest_first(
        self, account_id: str, *, limit: int, before: tuple[datetime, str] | None
    ) -> list[Session]:
        """Returns one page of the account's own sessions that have not ended.

        `before`: time and id of the previous page's last session.
        """
        statement = select(*_COLUMNS).where(_of(account_id), _LIVE)
        if before is not None:
            statement = statement.where(tuple_(tokens.c.created_at, tokens.c.id) < before)
        statement = statement.order_by(tokens.c.created_at.desc(), tokens.c.id.desc()).limit(limit)
        return [_session(row) for row in self.connection.execute(statement)]

    def exists(self, account_id: str, session_id: str) -> bool:
        """Whether the account has this session. A session that has ended counts until its row is deleted."""
        statement = select(tokens.c.id).where(_of(account_id), tokens.c.id == session_id)
        return self.connection.execute(statement).first() is not None

    def enter(self, parent_id: str, brand_id: str, **values: object) -> Session | None:
        """Makes a brand session expire later, and returns it: the one that was opened from the session `parent_id` for
        the brand `brand_id`. Returns None if there is no such brand session, or it has ended.

        `values`: columns to change as well, such as the hash of a new token.
        """
        statement = update(tokens).where(
            tokens.c.parent_id == parent_id, tokens.c.on_behalf_of_brand_id == brand_id, _LIVE
        )
        statement = statement.values(expires_at=_end(), **values)
        row = self.connection.execute(statement.returning(*_COLUMNS)).one_or_none()
        return None if row is None else _session(row)

    def add_child(
        self,
        parent_id: str,
        brand_id: str,
        *,
        session_id: str,
        account_id: str,
        since: datetime,
        **values: object,
    ) -> Session | None:
        """Adds a brand session that is opened from the session `parent_id`, and returns it. Returns None if the session
        `parent_id` has ended.

        If the person has an earlier brand session on this brand that ended at least a day ago, its row and id are used
        again. Then `session_id` is ignored. `since`: when the person became a collaborator; rows of sessions that began
        earlier are not used again. `values`: further columns of the row.
        """
        parent = self.connection.execute(
            select(tokens.c.account_id, tokens.c.name, tokens.c.client_address)
            .where(tokens.c.id == parent_id, _OWN, _LIVE)
            .with_for_update()
        ).one_or_none()
        if parent is None:
            return None
        values |= {"parent_id": parent_id, "name": parent.name, "client_address": parent.client_address}
        again = self._begin_again(brand_id, parent.account_id, since, values)
        return again or self.add(
            id=session_id,
            account_id=account_id,
            brand_ids=[brand_id],
            on_behalf_of_brand_id=brand_id,
            issued_by_collaborator_id=parent.account_id,
            **values,
        )

    def _begin_again(
        self, brand_id: str, person_id: str, since: datetime, values: dict[str, object]
    ) -> Session | None:
        """Turns the row of an ended brand session of this person on the brand into a new session with the same id, and
        returns it. Returns None if no such session ended at least a day ago.

        Sessions that began before `since` are not used: the person was removed from the brand after them, and the posts
        made in them are held under their ids. A new session with such an id would count as the maker of these posts.
        """
        theirs = (tokens.c.on_behalf_of_brand_id == brand_id) & (
            tokens.c.issued_by_collaborator_id == person_id
        )
        idle = tokens.c.session & (tokens.c.created_at >= since) & _ended_long_ago()
        oldest = select(tokens.c.id).where(theirs, idle).order_by(tokens.c.id).limit(1)
        fresh = {"created_at": clock_now(), "last_used_at": None, "request_count": 0, "revoked_at": None}
        statement = update(tokens).where(tokens.c.id == oldest.scalar_subquery())
        statement = statement.values(expires_at=_end(), **fresh, **values)
        row = self.connection.execute(statement.returning(*_COLUMNS)).one_or_none()
        return None if row is None else _session(row)

    def end_one(self, session_id: str) -> tuple[str, ...]:
        """Ends one session of any kind, and brand sessions opened from it. Returns the ids of the sessions that had not
        ended before."""
        return self._end(tokens.c.id == session_id)

    def end(self, account_id: str, session_id: str) -> tuple[str, ...]:
        """Ends one of the account's own sessions, and the brand sessions opened from it. Returns the ids of those that
        had not ended before.
        """
        return self._end(_of(account_id) & (tokens.c.id == session_id))

    def end_all(self, account_id: str, *, but: str = "") -> tuple[str, ...]:
        """Ends the account's own sessions except `but`, and the brand sessions opened from them. Returns the ids of
        those that had not ended before.
        """
        return self._end(_of(account_id) & (tokens.c.id != but))

    def count(self, account_id: str) -> int:
        """Counts the account's own sessions that nobody has ended; some may have expired."""
        statement = select(func.count()).select_from(tokens)
        unended = _of(account_id) & tokens.c.revoked_at.is_(None)
        return self.connection.execute(statement.where(unended)).scalar_one()

    def end_oldest(self, account_id: str, *, keep: int) -> tuple[str, ...]:
        """Ends the account's own sessions except the `keep` newest. Returns the ids of those that it ended."""
        oldest = select(tokens.c.id).where(_of(account_id), _LIVE)
        oldest = oldest.order_by(tokens.c.created_at.desc(), tokens.c.id.desc()).offset(keep)
        return self._end(tokens.c.id.in_(oldest.scalar_subquery()))

    def delete_ended(self, *, limit: int) -> int:
        """Deletes at most `limit` sessions that ended a day ago or earlier. Returns how many it deleted.

        Keeps brand sessions: when a person is removed from a brand, the ids of these sessions tell which posts to hold.
        Their number does not grow, because the person's next session on the brand uses the row of an ended one.
        """
        some = select(tokens.c.id).where(tokens.c.session, _OWN, _ended_long_ago()).limit(limit)
        statement = delete(tokens).where(tokens.c.id.in_(some.scalar_subquery()))
        return self.connection.execute(statement).rowcount

    def _end(self, which: ColumnElement[bool]) -> tuple[str, ...]:
        """Ends the sessions that meet the condition, and the brand sessions opened from them. Returns the ids of those
        that had not ended before.
        """
        meant = select(tokens.c.id).where(which, tokens.c.session).scalar_subquery()
        statement = update(tokens).where(
            tokens.c.id.in_(meant) | tokens.c.parent_id.in_(meant), tokens.c.revoked_at.is_(None)
        )
        statement = statement.values(revoked_at=clock_now())
        return tuple(self.connection.execute(statement.returning(tokens.c.id)).scalars())


def _of(account_id: str) -> ColumnElement[bool]:
    """Returns the SQL condition for the account's own sessions. Collaborators' brand sessions on the account are left
    out.
    """
    return (tokens.c.account_id == account_id) & tokens.c.session & _OWN


def _ended_long_ago() -> ColumnElement[bool]:
    long_ago = clock_now() - _ENDED_FOR
    return (tokens.c.revoked_at < long_ago) | (tokens.c.expires_at < long_ago)


def _end() -> ColumnElement[Any]:
    return func.date_trunc("milliseconds", clock_now() + timedelta(days=DAYS))


def _session(row: Row[Any]) -> Session:
    return Session(**row._mapping)
