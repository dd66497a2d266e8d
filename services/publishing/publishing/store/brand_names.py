"""SQL of the names of brands, which are stored with the brands' linked pages.

Linking a page and renaming its brand both write the brand's row of `brand_names` first. So they happen one after the
other, and no page keeps an old name.
"""

from datetime import datetime

from sqlalchemy import Connection, text

_LINK = text(
    """
    INSERT INTO brand_names AS known (brand_id, name) VALUES (:brand_id, :name)
    ON CONFLICT (brand_id) DO UPDATE
        SET name = CASE WHEN known.renamed_at IS NULL THEN excluded.name ELSE known.name END
    RETURNING name
    """
)
_RENAME = text(
    """
    INSERT INTO brand_names AS known (brand_id, name, renamed_at) VALUES (:brand_id, :name, :renamed_at)
    ON CONFLICT (brand_id) DO UPDATE SET name = excluded.name, renamed_at = excluded.renamed_at
        WHERE known.renamed_at IS NULL OR known.renamed_at < excluded.renamed_at
    """
)
_RENAME_PAGES = text("UPDATE pages SET brand_name = :name WHERE brand_id = :brand_id AND brand_name <> :name")


class BrandNames:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def link(self, brand_id: str, name: str) -> str:
        """Returns the brand's name to store with a page that is being linked: the name in the newest event
        brand.renamed, or `name` if there was no such event. No rename takes effect before the transaction ends.

        `name`: the brand's name when the linking began, which may be old by now.
        """
        row = self._connection.execute(_LINK, {"brand_id": brand_id, "name": name})
        return str(row.scalar_one())

    def rename(self, brand_id: str, name: str, renamed_at: datetime) -> None:
        """Stores the new name with the brand and its pages, unless a newer name is stored already."""
        values = {"brand_id": brand_id, "name": name}
        if self._connection.execute(_RENAME, values | {"renamed_at": renamed_at}).rowcount:
            self._connection.execute(_RENAME_PAGES, values)
