"""Reads and writes the rows of `totps` and `recovery_codes` (the second factor of a sign-in)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Executable, Row, delete, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from accounts.models import recovery_codes, totps
from chassis.db.clock import clock_now
from contracts.record import Record


class TotpRow(Record):
    id: str
    #: None: begun, and not confirmed with a code yet.
    enabled_at: datetime | None


_COLUMNS = [totps.c[field] for field in TotpRow.__struct_fields__]


class TotpStore:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def find(self, user_id: str) -> TotpRow | None:
        return self._one(select(*_COLUMNS).where(totps.c.user_id == user_id))

    def begin(self, user_id: str, totp_id: str) -> bool:
        """Stores the id of a new secret in place of an earlier one. The second factor is turned on later, with the
        first code made from this secret (`enable`). Returns False if it is on already.
        """
        statement = upsert(totps).values(user_id=user_id, id=totp_id)
        statement = statement.on_conflict_do_update(
            index_elements=[totps.c.user_id], set_={"id": totp_id}, where=totps.c.enabled_at.is_(None)
        )
        return self._one(statement.returning(*_COLUMNS)) is not None

    def enable(self, user_id: str, totp_id: str, step: int) -> bool:
        """Turns the second factor on. `step` is the 30-second step of its first code, which cannot be used again.

        Returns False if it is on already, or the secret with this id has been replaced by a newer one.
        """
        waiting = (totps.c.user_id == user_id) & (totps.c.id == totp_id) & totps.c.enabled_at.is_(None)
        values = {"enabled_at": clock_now(), "last_step": step}
        return self.connection.execute(update(totps).where(waiting).values(values)).rowcount > 0

    def use_step(self, user_id: str, step: int) -> bool:
        """Records that the code of a 30-second step was used. Returns False if this or a later step was used before."""
        newer = (totps.c.user_id == user_id) & (totps.c.last_step < step)
        return self.connection.execute(update(totps).where(newer).values(last_step=step)).rowcount > 0

    def delete(self, user_id: str) -> bool:
        """Deletes the secret and the recovery codes. Returns False if there were none."""
        self.connection.execute(delete(recovery_codes).where(recovery_codes.c.user_id == user_id))
        return self.connection.execute(delete(totps).where(totps.c.user_id == user_id)).rowcount > 0

    def add_recovery_codes(self, user_id: str, hashes: Sequence[str]) -> None:
        self.connection.execute(
            insert(recovery_codes), [{"user_id": user_id, "code_sha256": one} for one in hashes]
        )

    def use_recovery_code(self, user_id: str, code_sha256: str) -> bool:
        """Deletes a recovery code. Returns False if there is no such code, or it was used before."""
        used = (recovery_codes.c.user_id == user_id) & (recovery_codes.c.code_sha256 == code_sha256)
        return self.connection.execute(delete(recovery_codes).where(used)).rowcount > 0

    def recovery_codes_left(self, user_id: str) -> int:
        statement = select(func.count()).where(recovery_codes.c.user_id == user_id)
        return self.connection.execute(statement).scalar_one()

    def _one(self, statement: Executable) -> TotpRow | None:
        row: Row[Any] | None = self.connection.execute(statement).one_or_none()
        return None if row is None else TotpRow(**row._mapping)
