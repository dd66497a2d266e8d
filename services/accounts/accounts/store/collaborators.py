"""Reads and writes the rows of `collaborators`."""

from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete, select, tuple_
from sqlalchemy.dialects.postgresql import insert

from accounts.models import brands, collaborators, users
from chassis.db.clock import clock_now
from contracts.accounts import Collaborator, ListedCollaborator, SharedBrand

_COLUMNS = [collaborators.c[field] for field in Collaborator.__struct_fields__]


class CollaboratorStore:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def find(self, brand_id: str, user_id: str) -> Collaborator | None:
        statement = select(*_COLUMNS).where(_key(brand_id, user_id))
        row = self.connection.execute(statement).one_or_none()
        return None if row is None else Collaborator(**row._mapping)

    def has_address(self, brand_id: str, email: str) -> bool:
        """Whether somebody with this e-mail address works on the brand."""
        statement = select(users.c.id).join(collaborators, users.c.id == collaborators.c.user_id)
        named = (collaborators.c.brand_id == brand_id) & (users.c.email == email)
        return self.connection.execute(statement.where(named)).first() is not None

    def list_newest_first(
        self, brand_id: str, *, limit: int, before: tuple[datetime, str] | None
    ) -> list[ListedCollaborator]:
        """Returns one page of a brand's collaborators, newest first.

        `before`: time and user id of the previous page's last collaborator.
        """
        statement = (
            select(*_COLUMNS, users.c.email, users.c.firstname, users.c.lastname)
            .join(users, users.c.id == collaborators.c.user_id)
            .where(collaborators.c.brand_id == brand_id)
        )
        position = tuple_(collaborators.c.created_at, collaborators.c.user_id)
        if before is not None:
            statement = statement.where(position < tuple_(*before))
        statement = statement.order_by(collaborators.c.created_at.desc(), collaborators.c.user_id.desc())
        rows = self.connection.execute(statement.limit(limit))
        return [ListedCollaborator(**row._mapping) for row in rows]

    def brands_of(
        self, user_id: str, *, limit: int, before: tuple[datetime, str] | None
    ) -> list[SharedBrand]:
        """Returns one page of the unarchived brands that a user works on as a collaborator, newest first.

        `before`: time and brand id of the previous page's last brand.
        """
        statement = (
            select(
                *(collaborators.c[name] for name in ("brand_id", "role", "created_at")),
                *(brands.c.name, brands.c.timezone),
                *(users.c[name].label(f"owner_{name}") for name in ("email", "firstname", "lastname")),
            )
            .join(brands, brands.c.id == collaborators.c.brand_id)
            .join(users, users.c.id == brands.c.account_id)
            .where(collaborators.c.user_id == user_id, brands.c.archived_at.is_(None))
        )
        position = tuple_(collaborators.c.created_at, collaborators.c.brand_id)
        if before is not None:
            statement = statement.where(position < tuple_(*before))
        statement = statement.order_by(collaborators.c.created_at.desc(), collaborators.c.brand_id.desc())
        return [SharedBrand(**row._mapping) for row in self.connection.execute(statement.limit(limit))]

    def set_role(self, brand_id: str, user_id: str, role: str) -> Collaborator:
        statement = insert(collaborators).values(
            brand_id=brand_id, user_id=user_id, role=role, created_at=clock_now()
        )
        key = [collaborators.c.brand_id, collaborators.c.user_id]
        statement = statement.on_conflict_do_update(index_elements=key, set_={"role": role})
        row = self.connection.execute(statement.returning(*_COLUMNS)).one()
        return Collaborator(**row._mapping)

    def remove(self, brand_id: str, user_id: str) -> bool:
        return self.connection.execute(delete(collaborators).where(_key(brand_id, user_id))).rowcount > 0


def _key(brand_id: str, user_id: str) -> ColumnElement[bool]:
    return (collaborators.c.brand_id == brand_id) & (collaborators.c.user_id == user_id)
