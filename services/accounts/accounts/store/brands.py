"""Reads and writes the rows of `brands`."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Executable, Row, func, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert

from accounts.models import brands
from chassis.db.clock import clock_now
from contracts.accounts import Brand, BrandOwner

_COLUMNS = [brands.c[field] for field in Brand.__struct_fields__]
_OWNED = [*_COLUMNS, brands.c.account_id]


class BrandStore:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def add(self, **values: object) -> BrandOwner | None:
        """Adds a brand. Returns None if this operation has added one already."""
        statement = insert(brands).values(created_at=clock_now(), **values).on_conflict_do_nothing()
        return self._one(statement.returning(*_OWNED))

    def find(self, brand_id: str) -> BrandOwner | None:
        return self._one(select(*_OWNED).where(brands.c.id == brand_id))

    def find_by_operation(self, operation_id: str) -> BrandOwner | None:
        return self._one(select(*_OWNED).where(brands.c.operation_id == operation_id))

    def count_of(self, account_id: str, brand_ids: Collection[str]) -> int:
        """Counts how many of these (distinct) brands belong to the account."""
        mine = (brands.c.account_id == account_id) & brands.c.id.in_(brand_ids)
        return self.connection.execute(select(func.count()).select_from(brands).where(mine)).scalar_one()

    def count(self, account_id: str) -> int:
        mine = select(func.count()).select_from(brands).where(brands.c.account_id == account_id)
        return self.connection.execute(mine).scalar_one()

    def edit(self, brand_id: str, *, archived: bool, **values: object) -> Brand:
        """Changes the columns of a brand, which must exist. `archived`: whether the brand is archived afterwards. If it
        was archived before, the time of archiving stays.
        """
        at = func.coalesce(brands.c.archived_at, clock_now()) if archived else None
        edited = self._one(
            update(brands).where(brands.c.id == brand_id).values(archived_at=at, **values).returning(*_OWNED)
        )
        assert edited is not None
        return edited.brand

    def ids_of(self, account_id: str, brand_ids: Collection[str] | None) -> list[str]:
        """Returns the brand ids among `brand_ids` that belong to the account; for None, the ids of all its brands."""
        statement = select(brands.c.id).where(brands.c.account_id == account_id)
        if brand_ids is not None:
            statement = statement.where(brands.c.id.in_(brand_ids))
        return list(self.connection.execute(statement.order_by(brands.c.id)).scalars())

    def list_newest_first(
        self,
        account_id: str,
        brand_ids: Collection[str] | None,
        *,
        archived: bool,
        limit: int,
        before: tuple[datetime, str] | None,
    ) -> list[Brand]:
        """Returns one page of an account's brands, newest first.

        `brand_ids`: lists only these brands; None: all. `archived`: whether archived brands are listed too. `before`:
        time and id of the previous page's last brand.
        """
        statement = select(*_COLUMNS).where(brands.c.account_id == account_id)
        if not archived:
            statement = statement.where(brands.c.archived_at.is_(None))
        if brand_ids is not None:
            statement = statement.where(brands.c.id.in_(brand_ids))
        if before is not None:
            statement = statement.where(tuple_(brands.c.created_at, brands.c.id) < tuple_(*before))
        statement = statement.order_by(brands.c.created_at.desc(), brands.c.id.desc()).limit(limit)
        return [Brand(**row._mapping) for row in self.connection.execute(statement)]

    def _one(self, statement: Executable) -> BrandOwner | None:
        row: Row[Any] | None = self.connection.execute(statement).one_or_none()
        if row is None:
            return None
        values = dict(row._mapping)
        account_id = values.pop("account_id")
        return BrandOwner(brand=Brand(**values), account_id=account_id)
