"""Pages: statements."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, update
from sqlalchemy.dialects.postgresql import insert

from chassis.clock import clock_now
from chassis.database import Compiled
from publishing.models import pages
from publishing.records import PageRow, column_names, is_id

#: In the order of PageRow's fields.
_ALL = select(*(pages.c[name] for name in column_names(PageRow)))
# Built once: composing a statement costs as much as running it.
_ONE = _ALL.where(pages.c.id == bindparam("id"))
_ONE_WITH_TIME = Compiled(_ONE.add_columns(clock_now().label("now")))
#: The busiest list of the API: as text, because composing it costs as much as running it.
_NEWEST = f"""
    SELECT {", ".join(column_names(PageRow))} FROM pages WHERE {{conditions}} ORDER BY created_at DESC, id DESC LIMIT %s
"""


class Pages:
    """Pages over an open connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get_with_time(self, page_id: str) -> tuple[PageRow | None, datetime]:
        """The page and the time, in one round trip; without a page the time means nothing."""
        if not is_id(page_id):
            return None, datetime.min
        row = _ONE_WITH_TIME.run(self._connection, {"id": page_id}).first()
        return (PageRow(*row[:-1]), row[-1]) if row else (None, datetime.min)

    def get(self, page_id: str) -> PageRow | None:
        if not is_id(page_id):
            return None
        row = self._connection.execute(_ONE, {"id": page_id}).mappings().first()
        return PageRow.of(row) if row else None

    def many(self, page_ids: list[str]) -> dict[str, PageRow]:
        rows = self._connection.execute(select(pages).where(pages.c.id.in_(page_ids))).mappings()
        return {row["id"]: PageRow.of(row) for row in rows}

    def link(self, values: dict[str, Any]) -> PageRow:
        """Adds the page, or repairs the one that already stands for this platform account in this brand."""
        statement = insert(pages).values(created_at=clock_now(), **values)
        kept = ("id", "created_at", "brand_id", "platform", "remote_account_id")
        repaired = {name: statement.excluded[name] for name in values if name not in kept} | {
            "expired": False
        }
        row = self._connection.execute(
            statement.on_conflict_do_update(
                index_elements=["brand_id", "platform", "remote_account_id"], set_=repaired
            ).returning(pages)
        ).mappings()
        return PageRow.of(row.one())

    def expire(self, page_id: str) -> PageRow | None:
        row = self._connection.execute(
            update(pages).where(pages.c.id == page_id).values(expired=True).returning(pages)
        ).mappings()
        found = row.first()
        return PageRow.of(found) if found else None

    def rename_brand(self, brand_id: str, name: str) -> None:
        self._connection.execute(update(pages).where(pages.c.brand_id == brand_id).values(brand_name=name))

    def newest(
        self,
        account_id: str,
        *,
        brand_ids: tuple[str, ...] | None,
        platform: str | None,
        after: tuple[datetime, str] | None,
        limit: int,
    ) -> list[PageRow]:
        """Newest first; `after` is the last row's (created_at, id)."""
        conditions: list[tuple[str, list[Any]]] = [("account_id = %s", [account_id])]
        if brand_ids is not None:
            conditions.append(("brand_id = ANY(%s)", [list(brand_ids)]))
        if platform is not None:
            conditions.append(("platform = %s", [platform]))
        if after is not None:
            conditions.append(("(created_at, id) < (%s, %s)", list(after)))
        statement = _NEWEST.format(conditions=" AND ".join(condition for condition, _ in conditions))
        values = [value for _, values in conditions for value in values]
        rows = self._connection.exec_driver_sql(statement, (*values, limit)).fetchall()
        return [PageRow(*row) for row in rows]

    def counts(self, account_id: str, brand_ids: tuple[str, ...]) -> dict[str, int]:
        statement = (
            select(pages.c.brand_id, func.count().label("pages"))
            .where(pages.c.account_id == account_id, pages.c.brand_id.in_(brand_ids))
            .group_by(pages.c.brand_id)
        )
        return {row.brand_id: row.pages for row in self._connection.execute(statement)}
