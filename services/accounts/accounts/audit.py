"""The audit log of a brand: its collaborators, their tokens, and the operator's acts."""

from accounts import access, fields
from accounts.store import Connection
from accounts.store.audit import AuditStore
from contracts.accounts import AuditEntry, AuditLog, ListAudit, RecordAudit
from contracts.caller import Caller

#: Entries shown, newest first. Our choice.
MAX_ENTRIES = 1_000


def list_audit(connection: Connection, caller: Caller, request: ListAudit) -> AuditLog:
    caller.check_operator()
    access.brand(connection, request.brand_id)
    entries = AuditStore(connection).list_newest_first(request.brand_id, limit=MAX_ENTRIES)
    return AuditLog(entries=tuple(entries))


def record_audit(connection: Connection, caller: Caller, request: RecordAudit) -> AuditEntry:
    """An act of the operator that another service carries out; once per operation."""
    caller.check_operator()
    access.brand(connection, request.brand_id)
    store = AuditStore(connection)
    act = {
        "brand_id": request.brand_id,
        "action": fields.name("action", request.action),
        "subject_id": fields.name("subject_id", request.subject_id),
    }
    return store.find_by_operation(caller.operation_id, **act) or store.add(
        **act, actor_id=caller.user_id, details=request.details, operation_id=caller.operation_id
    )
