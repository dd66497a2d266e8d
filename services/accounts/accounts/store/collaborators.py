"""Rows of `collaborators`."""

from sqlalchemy import ColumnElement, Connection, delete, select
from sqlalchemy.dialects.postgresql import insert

from accounts.models import collaborators
from chassis.db.clock import clock_now
from contracts.accounts import Collaborator

_COLUMNS = [collaborators.c[field] for field in Collaborator.__struct_fields__]


class CollaboratorStore:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def find(self, brand_id: str, user_id: str) -> Collaborator | None:
        statement = select(*_COLUMNS).where(_key(brand_id, user_id))
        row = self.connection.execute(statement).one_or_none()
        return None if row is None else Collaborator(**row._mapping)

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
