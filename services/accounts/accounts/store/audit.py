"""Reads and writes the rows of `audit_entries`."""

from datetime import datetime

from sqlalchemy import Connection, func, insert, select, tuple_

from accounts.models import audit_entries, brands, users
from chassis.db.clock import clock_now
from chassis.ids import new_id
from contracts.accounts import AuditEntry

_COLUMNS = [audit_entries.c[name] for name in AuditEntry.__struct_fields__ if name in audit_entries.c]
_ACTORS, _SUBJECTS = users.alias("actors"), users.alias("subjects")
#: Whom an entry is about: the issuer of its token, else the subject itself, which need not be a user.
_SUBJECT_ID = func.coalesce(audit_entries.c.details["issued_by"].astext, audit_entries.c.subject_id)
_NAMED = select(
    *_COLUMNS, _ACTORS.c.email.label("actor_email"), _SUBJECTS.c.email.label("subject_email")
).select_from(
    audit_entries.outerjoin(_ACTORS, _ACTORS.c.id == audit_entries.c.actor_id).outerjoin(
        _SUBJECTS, _SUBJECTS.c.id == _SUBJECT_ID
    )
)


class AuditStore:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def add(
        self,
        *,
        brand_id: str,
        actor_id: str,
        action: str,
        subject_id: str,
        details: dict[str, object] | None = None,
        operation_id: str | None = None,
    ) -> AuditEntry:
        statement = insert(audit_entries).values(
            id=new_id("aud"),
            brand_id=brand_id,
            actor_id=actor_id,
            action=action,
            subject_id=subject_id,
            created_at=clock_now(),
            details=details or {},
            operation_id=operation_id,
        )
        return AuditEntry(**self.connection.execute(statement.returning(*_COLUMNS)).one()._mapping)

    def find_by_operation(
        self, operation_id: str | None, *, brand_id: str, action: str, subject_id: str
    ) -> AuditEntry | None:
        """Returns the entry about this brand, action and subject that an earlier try of the operation wrote; None if
        there is none.
        """
        if operation_id is None:
            return None
        written = audit_entries.c.operation_id == operation_id
        asked = {"brand_id": brand_id, "action": action, "subject_id": subject_id}
        row = self.connection.execute(select(*_COLUMNS).where(written).filter_by(**asked)).first()
        return None if row is None else AuditEntry(**row._mapping)

    def list_newest_first(self, brand_id: str, *, limit: int) -> list[AuditEntry]:
        statement = _NAMED.where(audit_entries.c.brand_id == brand_id)
        statement = statement.order_by(audit_entries.c.created_at.desc(), audit_entries.c.id.desc())
        statement = statement.limit(limit)
        return [AuditEntry(**row._mapping) for row in self.connection.execute(statement)]

    def page_of(
        self, account_id: str, brand_id: str | None, *, limit: int, before: tuple[datetime, str] | None
    ) -> list[AuditEntry]:
        """Returns one page of the audit entries of an account's brand, or of all its brands, newest first.

        `before`: time and id of the previous page's last entry.
        """
        theirs = audit_entries.c.brand_id.in_(select(brands.c.id).where(brands.c.account_id == account_id))
        statement = _NAMED.where(theirs)
        if brand_id is not None:
            statement = statement.where(audit_entries.c.brand_id == brand_id)
        if before is not None:
            statement = statement.where(
                tuple_(audit_entries.c.created_at, audit_entries.c.id) < tuple_(*before)
            )
        statement = statement.order_by(audit_entries.c.created_at.desc(), audit_entries.c.id.desc())
        return [AuditEntry(**row._mapping) for row in self.connection.execute(statement.limit(limit))]
