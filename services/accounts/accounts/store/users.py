"""Reads and writes the rows of `users`."""

from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, Executable, Row, delete, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError

from accounts.models import users
from chassis.db.clock import clock_now
from contracts.accounts import User

_COLUMNS = [users.c[field] for field in User.__struct_fields__]


class UserStore:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def add(self, **values: object) -> User | None:
        """Adds a user. Returns None if the address is taken or this operation has added one already."""
        statement = insert(users).values(created_at=clock_now(), **values).on_conflict_do_nothing()
        return self._one(statement.returning(*_COLUMNS))

    def find(self, user_id: str) -> User | None:
        return self._one(select(*_COLUMNS).where(users.c.id == user_id))

    def find_by_email(self, email: str) -> User | None:
        return self._one(select(*_COLUMNS).where(users.c.email == email))

    def find_by_operation(self, operation_id: str) -> User | None:
        return self._one(select(*_COLUMNS).where(users.c.operation_id == operation_id))

    def lock(self, user_id: str) -> User | None:
        """Returns the account and locks its row until commit, so that changes of its tokens and collaborators wait for
        each other."""
        return self._one(select(*_COLUMNS).where(users.c.id == user_id).with_for_update(key_share=True))

    def lock_unverified(self, email: str) -> User | None:
        """Returns the unverified account with this address, and locks its row until commit. None if there is none."""
        held = (users.c.email == email) & ~users.c.verified
        return self._one(select(*_COLUMNS).where(held).with_for_update())

    def lock_lapsed(self, days: int, *, limit: int) -> list[User]:
        """Locks and returns unverified accounts older than `days`, oldest first, and skips rows that another
        transaction has locked."""
        lapsed = ~users.c.verified & (users.c.created_at < clock_now() - timedelta(days=days))
        statement = select(*_COLUMNS).where(lapsed).order_by(users.c.created_at).limit(limit)
        rows = self.connection.execute(statement.with_for_update(skip_locked=True))
        return [User(**row._mapping) for row in rows]

    def list_all(self, *, before_id: str | None, limit: int) -> list[User]:
        """Returns one page of all users, newest first (ids grow with time).

        `before_id`: the last id of the previous page.
        """
        statement = select(*_COLUMNS).order_by(users.c.id.desc()).limit(limit)
        if before_id is not None:
            statement = statement.where(users.c.id < before_id)
        return [User(**row._mapping) for row in self.connection.execute(statement)]

    def list_unverified(self, *, limit: int) -> list[User]:
        statement = select(*_COLUMNS).where(~users.c.verified)
        statement = statement.order_by(users.c.created_at.desc(), users.c.id.desc()).limit(limit)
        return [User(**row._mapping) for row in self.connection.execute(statement)]

    def password_hash(self, user_id: str) -> str | None:
        return self.connection.execute(select(users.c.password_hash).where(users.c.id == user_id)).scalar()

    def password_of(self, email: str) -> tuple[str | None, str | None]:
        """Returns the id and the password hash of the account with this address. Both are None if there is no account;
        the hash alone is None if the account has no password.
        """
        row = self.connection.execute(
            select(users.c.id, users.c.password_hash).where(users.c.email == email)
        ).first()
        return (None, None) if row is None else (row.id, row.password_hash)

    def change(self, user_id: str, **values: str | None) -> User:
        """Changes the profile of a user, who must exist."""
        user = self._one(update(users).where(users.c.id == user_id).values(**values).returning(*_COLUMNS))
        assert user is not None
        return user

    def set_email(self, user_id: str, email: str) -> User | None:
        """Changes the e-mail address of a user, who must exist. Returns None if another account has the address."""
        try:
            with self.connection.begin_nested():
                return self.change(user_id, email=email)
        except IntegrityError:
            return None

    def set_password(self, user_id: str, password_hash: str) -> None:
        self.connection.execute(
            update(users).where(users.c.id == user_id).values(password_hash=password_hash)
        )

    def set_verified(self, user_id: str) -> User | None:
        """Marks the address as verified. Returns None if there is no such account or it was verified before."""
        unverified = (users.c.id == user_id) & ~users.c.verified
        return self._one(update(users).where(unverified).values(verified=True).returning(*_COLUMNS))

    def delete(self, user_id: str) -> None:
        """Deletes the account, with its second factor and its requested change of address. Its tokens must be deleted
        first."""
        self.connection.execute(delete(users).where(users.c.id == user_id))

    def set_tier(self, user_id: str, tier: str) -> User | None:
        return self._one(update(users).where(users.c.id == user_id).values(tier=tier).returning(*_COLUMNS))

    def _one(self, statement: Executable) -> User | None:
        row: Row[Any] | None = self.connection.execute(statement).one_or_none()
        return None if row is None else User(**row._mapping)
