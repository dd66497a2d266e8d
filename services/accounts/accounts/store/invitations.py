"""Reads and writes the rows of `invitations`."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Executable, Row, delete, insert, select, tuple_

from accounts.models import invitations
from chassis.db.clock import clock_now
from contracts.accounts import Invitation

_COLUMNS = [invitations.c[field] for field in Invitation.__struct_fields__]
_LIVE = invitations.c.expires_at > clock_now()


class InvitationStore:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def add(self, *, days: int, **values: object) -> Invitation:
        """Adds an invitation that is valid for `days`. The address must not have another one to the same brand."""
        expires_at = clock_now() + timedelta(days=days)
        statement = insert(invitations).values(created_at=clock_now(), expires_at=expires_at, **values)
        return Invitation(**self.connection.execute(statement.returning(*_COLUMNS)).one()._mapping)

    def find(self, invitation_id: str) -> Invitation | None:
        """Returns an unexpired invitation, or None."""
        return self._one(select(*_COLUMNS).where(invitations.c.id == invitation_id, _LIVE))

    def find_of(self, brand_id: str, email: str) -> Invitation | None:
        """Returns the invitation of an address to a brand, also an expired one, or None."""
        return self._one(
            select(*_COLUMNS).where(invitations.c.brand_id == brand_id, invitations.c.email == email)
        )

    def list_newest_first(
        self, brand_id: str, *, limit: int, before: tuple[datetime, str] | None
    ) -> list[Invitation]:
        """Returns one page of the unexpired invitations to a brand, newest first.

        `before`: time and id of the previous page's last invitation.
        """
        statement = select(*_COLUMNS).where(invitations.c.brand_id == brand_id, _LIVE)
        if before is not None:
            statement = statement.where(tuple_(invitations.c.created_at, invitations.c.id) < tuple_(*before))
        statement = statement.order_by(invitations.c.created_at.desc(), invitations.c.id.desc())
        return [Invitation(**row._mapping) for row in self.connection.execute(statement.limit(limit))]

    def use(self, invitation_id: str) -> Invitation | None:
        """Deletes an invitation and returns it. Returns None if it was used, withdrawn or replaced before, or has
        expired."""
        statement = delete(invitations).where(invitations.c.id == invitation_id, _LIVE)
        return self._one(statement.returning(*_COLUMNS))

    def delete(self, invitation_id: str) -> None:
        self.connection.execute(delete(invitations).where(invitations.c.id == invitation_id))

    def delete_expired(self) -> int:
        return self.connection.execute(delete(invitations).where(~_LIVE)).rowcount

    def _one(self, statement: Executable) -> Invitation | None:
        row: Row[Any] | None = self.connection.execute(statement).one_or_none()
        return None if row is None else Invitation(**row._mapping)
