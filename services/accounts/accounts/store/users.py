"""Rows of `users`."""

from typing import Any

from sqlalchemy import Connection, Executable, Row, select, update
from sqlalchemy.dialects.postgresql import insert

from accounts.models import users
from chassis.clock import clock_now
from contracts.accounts import User

_COLUMNS = [users.c[field] for field in User.__struct_fields__]


class UserStore:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def add(self, **values: object) -> User | None:
        """None when the address or the operation id is already there."""
        statement = insert(users).values(created_at=clock_now(), **values).on_conflict_do_nothing()
        return self._one(statement.returning(*_COLUMNS))

    def find(self, user_id: str) -> User | None:
        return self._one(select(*_COLUMNS).where(users.c.id == user_id))

    def find_by_email(self, email: str) -> User | None:
        return self._one(select(*_COLUMNS).where(users.c.email == email))

    def find_by_operation(self, operation_id: str) -> User | None:
        return self._one(select(*_COLUMNS).where(users.c.operation_id == operation_id))

    def lock(self, user_id: str) -> User | None:
        """The account, held until commit: changes of its tokens and collaborators go one after another."""
        return self._one(select(*_COLUMNS).where(users.c.id == user_id).with_for_update(key_share=True))

    def set_tier(self, user_id: str, tier: str) -> User | None:
        return self._one(update(users).where(users.c.id == user_id).values(tier=tier).returning(*_COLUMNS))

    def _one(self, statement: Executable) -> User | None:
        row: Row[Any] | None = self.connection.execute(statement).one_or_none()
        return None if row is None else User(**row._mapping)
