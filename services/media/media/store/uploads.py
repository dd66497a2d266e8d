"""Uploads in progress, and the storage an account uses: statements."""

from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, delete, func, insert, or_, select, text, update

from chassis.db.clock import clock_now
from media.models import uploads
from media.names import is_id
from media.records import Upload
from media.store.attachments import BELIEVED_FOR

_LOCK_ACCOUNT = text("SELECT pg_advisory_xact_lock(hashtextextended(:account_id, 0))")
#: Reservations, media that no post has published yet, and published ones that another post waits with.
_USED = text(
    """
    SELECT coalesce((SELECT sum(size_bytes) FROM uploads WHERE account_id = :account_id), 0)
         + coalesce((SELECT sum(size_bytes) FROM media WHERE account_id = :account_id AND published_at IS NULL), 0)
         + coalesce((SELECT sum(size_bytes) FROM media WHERE published_at IS NOT NULL AND id IN
                        (SELECT media_id FROM attachments WHERE account_id = :account_id
                            AND (confirmed OR created_at > clock_now() - :believed_for))), 0)
    """
)
_REAL_NOW = func.clock_timestamp()


class Uploads:
    """Uploads over an open connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def lock_account(self, account_id: str) -> None:
        """Until the transaction ends nobody else reserves storage of this account, in any process."""
        self._connection.execute(_LOCK_ACCOUNT, {"account_id": account_id})

    def used_bytes(self, account_id: str) -> int:
        """What counts against the account's storage (spec "Storage rules"), reservations included."""
        values = {"account_id": account_id, "believed_for": BELIEVED_FOR}
        return int(self._connection.execute(_USED, values).scalar_one())

    def add(self, values: dict[str, Any], lasts: timedelta) -> Upload:
        statement = insert(uploads).values(created_at=clock_now(), expires_at=clock_now() + lasts, **values)
        return Upload.of(self._connection.execute(statement.returning(uploads)).mappings().one())

    def set_parts(self, upload_id: str, parts_id: str) -> bool:
        """Note the storage's id of an upload in parts; false if the upload is gone."""
        statement = update(uploads).where(uploads.c.id == upload_id).values(parts_id=parts_id)
        return self._connection.execute(statement).rowcount == 1

    def note_replaced(self, upload_id: str, size_bytes: int) -> None:
        """What lies in the storage is about to be replaced by so many bytes."""
        statement = update(uploads).where(uploads.c.id == upload_id).values(replaced_bytes=size_bytes)
        self._connection.execute(statement)

    def get(self, upload_id: str) -> Upload | None:
        if not is_id(upload_id):
            return None
        row = self._connection.execute(select(uploads).where(uploads.c.id == upload_id)).mappings().first()
        return Upload.of(row) if row else None

    def claim(self, upload_id: str, lease: timedelta) -> Upload | None:
        """Take it for a look at its bytes; None if it is gone or somebody else has it."""
        statement = (
            update(uploads)
            .where(uploads.c.id == upload_id, _is_free())
            .values(lease_until=_REAL_NOW + lease)
            .returning(uploads)
        )
        row = self._connection.execute(statement).mappings().first()
        return Upload.of(row) if row else None

    def release(self, upload_id: str) -> None:
        """Give a claim back."""
        self._connection.execute(update(uploads).where(uploads.c.id == upload_id).values(lease_until=None))

    def remove(self, upload_id: str) -> bool:
        """End the reservation; false if it had ended."""
        return self._connection.execute(delete(uploads).where(uploads.c.id == upload_id)).rowcount == 1

    def begun_parts(self, account_id: str, operation_id: str) -> Upload | None:
        """The operation's upload in parts, if the storage knows it."""
        statement = select(uploads).where(
            uploads.c.account_id == account_id,
            uploads.c.operation_id == operation_id,
            uploads.c.parts_id.is_not(None),
            uploads.c.expires_at > clock_now(),
        )
        row = self._connection.execute(statement).mappings().first()
        return Upload.of(row) if row else None

    def take_of_operation(self, account_id: str, operation_id: str) -> list[Upload]:
        """End what an earlier try of the operation reserved, unless somebody looks at its bytes."""
        statement = delete(uploads).where(
            uploads.c.account_id == account_id, uploads.c.operation_id == operation_id, _is_free()
        )
        return [Upload.of(row) for row in self._connection.execute(statement.returning(uploads)).mappings()]

    def take_expired(self, limit: int) -> list[Upload]:
        """End reservations whose time is over and whose bytes nobody looks at."""
        expired = (
            select(uploads.c.id)
            .where(uploads.c.expires_at < clock_now(), _is_free())
            .order_by(uploads.c.expires_at)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        statement = delete(uploads).where(uploads.c.id.in_(expired)).returning(uploads)
        return [Upload.of(row) for row in self._connection.execute(statement).mappings()]


def _is_free() -> Any:
    return or_(uploads.c.lease_until.is_(None), uploads.c.lease_until < _REAL_NOW)
