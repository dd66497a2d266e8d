"""SQL of uploads in progress, and of the storage that an account uses."""

from datetime import timedelta
from typing import Any

from sqlalchemy import and_, delete, insert, select, text, update

from chassis.db.clock import clock_now
from chassis.ids import is_id
from contracts.media import owns_copies
from media.models import Upload, uploads
from media.store import REAL_NOW, Store, is_unleased, next_rows
from media.store.attachments import COUNTED_FOR

_LOCK_ACCOUNT = text("SELECT pg_advisory_xact_lock(hashtextextended(:account_id, 0))")
#: Reservations, media that no post has published yet, and published media that a pending post has.
_USED = text(
    """
    SELECT coalesce((SELECT sum(size_bytes) FROM uploads WHERE account_id = :account_id), 0)
         + coalesce((SELECT sum(size_bytes) FROM media WHERE account_id = :account_id AND published_at IS NULL), 0)
         + coalesce((SELECT sum(size_bytes) FROM media WHERE published_at IS NOT NULL AND id IN
                        (SELECT media_id FROM attachments WHERE account_id = :account_id
                            AND (confirmed OR created_at > clock_now() - :counted_for))), 0)
    """
)


class Uploads(Store):
    def lock_account(self, account_id: str) -> None:
        """Locks the account's storage quota until the transaction ends."""
        self._connection.execute(_LOCK_ACCOUNT, {"account_id": account_id})

    def used_bytes(self, account_id: str) -> int:
        """Returns how many bytes count against the account's quota (spec "Storage rules")."""
        values = {"account_id": account_id, "counted_for": COUNTED_FOR}
        return int(self._connection.execute(_USED, values).scalar_one())

    def add(self, values: dict[str, Any], valid_for: timedelta) -> Upload:
        times = {"created_at": clock_now(), "expires_at": clock_now() + valid_for}
        [added] = self._all(insert(uploads).values(values | times).returning(uploads), Upload)
        return added

    def set_parts(self, upload_id: str, parts_id: str) -> bool:
        """Saves the id that the storage gave a multipart upload. Returns False if the upload is gone."""
        return self._count(update(uploads).where(uploads.c.id == upload_id).values(parts_id=parts_id)) == 1

    def note_replaced(self, upload: Upload, size_bytes: int) -> bool:
        """Stores the size of the file that will replace the uploaded object. Returns False if the claim is lost."""
        return self._count(update(uploads).where(_is_claimed(upload)).values(replaced_bytes=size_bytes)) == 1

    def get(self, upload_id: str) -> Upload | None:
        wanted = select(uploads).where(uploads.c.id == upload_id)
        return self._first(wanted, Upload) if is_id(upload_id) else None

    def claim(self, upload_id: str, lease: timedelta) -> Upload | None:
        """Claims an upload for an inspection. Returns None if it is gone or claimed already."""
        claim = update(uploads).where(uploads.c.id == upload_id, is_unleased(uploads))
        return self._first(claim.values(lease_until=REAL_NOW + lease).returning(uploads), Upload)

    def release(self, upload: Upload) -> bool:
        """Ends the claim. Returns False if it is lost."""
        return self._count(update(uploads).where(_is_claimed(upload)).values(lease_until=None)) == 1

    def end_claimed(self, upload: Upload) -> bool:
        """Ends a claimed upload, whether its file was stored or refused. Returns False if the claim is lost."""
        return self._count(delete(uploads).where(_is_claimed(upload))) == 1

    def remove(self, upload: Upload) -> bool:
        """Ends an upload, claimed or not. Returns False if it had ended before."""
        return self._count(delete(uploads).where(uploads.c.id == upload.id)) == 1

    def begun_parts(self, account_id: str, operation_id: str) -> Upload | None:
        """Returns the operation's multipart upload, if the storage has begun it and it has not expired."""
        begun = _of_operation(account_id, operation_id)
        is_valid = and_(uploads.c.parts_id.is_not(None), uploads.c.expires_at > clock_now())
        return self._first(select(uploads).where(begun, is_valid), Upload)

    def take_of_operation(self, account_id: str, operation_id: str) -> list[Upload]:
        """Ends and returns the operation's earlier uploads that are not being inspected. Those of copies stay."""
        if owns_copies(account_id):
            return []
        begun = _of_operation(account_id, operation_id)
        return self._all(delete(uploads).where(begun, is_unleased(uploads)).returning(uploads), Upload)

    def take_expired(self, limit: int) -> list[Upload]:
        """Ends and returns uploads that have expired and are not being inspected."""
        is_over = and_(uploads.c.expires_at < clock_now(), is_unleased(uploads))
        expired = next_rows(uploads.c.id, is_over, first=uploads.c.expires_at, limit=limit)
        return self._all(delete(uploads).where(uploads.c.id.in_(expired)).returning(uploads), Upload)


def _of_operation(account_id: str, operation_id: str) -> Any:
    return and_(uploads.c.account_id == account_id, uploads.c.operation_id == operation_id)


def _is_claimed(upload: Upload) -> Any:
    """Returns the SQL condition that nobody has claimed or ended the upload since the claim in `upload`."""
    return and_(uploads.c.id == upload.id, uploads.c.lease_until == upload.lease_until)
