"""One lease per worker process: its claims hold while the process renews its row in `workers`.

A process registers a row in `workers` and renews it every two seconds. A claimed row names its worker (`worker_id`) and
has no lease of its own. Any process reaps a worker whose lease has expired: the worker's claims lapse in batches, then
its row is deleted. A reaped worker can never renew. Its process registers again under another id, and the old claims
are void. An expired lease that is renewed before the worker is reaped is valid again, so that an outage of the database
ends no claim.

Leases use real time by the database's clock. Right before an irreversible action, the process checks a deadline by its
own clock, counted from its last successful renewal. So a process that was frozen for longer than its lease notices it
without asking the database.

The table is made by a migration of the service that uses it (`create_workers`).
"""

import threading
import time
from collections.abc import Callable
from typing import Any

import structlog
from sqlalchemy import Column, Connection, DateTime, MetaData, String, Table, text

from chassis.db.database import Database
from chassis.ids import new_id
from contracts.errors import SERVICE_UNAVAILABLE, ApiError

log = structlog.get_logger()

#: Seconds between two renewals. With the default lease of 20 s, nine may fail before the lease expires. Our choice.
RENEW_SECONDS = 2.0
#: A process reaps others only after its own renewals have succeeded for this long without a gap, so that after an
#: outage of the database each living worker has had time for two renewals. Our choice.
GRACE_SECONDS = 5.0
#: The part of a lease that this process's own clock may use. The rest covers clocks of different speeds, and the time
#: between the check and the request on the wire. Our choice.
_LOCAL_SHARE = 0.9

metadata = MetaData()

workers = Table(
    "workers",
    metadata,
    Column("id", String, primary_key=True),
    #: Real time.
    Column("lease_until", DateTime(timezone=True), nullable=False),
    #: Real time: when its lease was found expired. From then on it cannot renew; its row is deleted after its last
    #: claim.
    Column("reaped_at", DateTime(timezone=True)),
    postgresql_with={"fillfactor": "50"},
)

_REGISTER = text(
    "INSERT INTO workers (id, lease_until) VALUES (:id, clock_timestamp() + make_interval(secs => :lease))"
)
_RENEW = text(
    """
    UPDATE workers SET lease_until = clock_timestamp() + make_interval(secs => :lease)
    WHERE id = :id AND reaped_at IS NULL
    """
)
_END = text("UPDATE workers SET lease_until = clock_timestamp() WHERE id = :id AND reaped_at IS NULL")
#: Conflicts with the lock that reaping takes, but not with a renewal.
_LOCK = text("SELECT FROM workers WHERE id = :id AND reaped_at IS NULL FOR KEY SHARE")
#: Read first, because there is mostly none.
_IS_ANY_EXPIRED = text(
    "SELECT EXISTS (SELECT FROM workers WHERE reaped_at IS NOT NULL OR lease_until <= clock_timestamp())"
)
_MARK = text(
    """
    UPDATE workers SET reaped_at = clock_timestamp() WHERE id IN (
        SELECT id FROM workers WHERE reaped_at IS NULL AND lease_until <= clock_timestamp()
        FOR UPDATE SKIP LOCKED)
    """
)
_REAPED = text(
    """
    SELECT id FROM workers WHERE reaped_at IS NOT NULL AND id <> ALL(CAST(:without AS text[]))
    ORDER BY reaped_at LIMIT 1 FOR UPDATE SKIP LOCKED
    """
)
_FORGET = text("DELETE FROM workers WHERE id = :id")

#: Ends a batch of a reaped worker's claims in this transaction. Returns how many it ended, and whether none is left.
Lapse = Callable[[Connection, str], tuple[int, bool]]


def create_workers(op: Any) -> None:
    """Creates the table `workers`, in a migration. `op` is Alembic's operations object."""
    metadata.create_all(op.get_bind())


def held_by(worker_id: str) -> str:
    """Returns a SQL condition that is true for rows whose worker has a valid lease. `worker_id` names the column that
    holds the worker's id.
    """
    return (
        f"EXISTS (SELECT FROM workers w WHERE w.id = {worker_id} AND w.reaped_at IS NULL"
        " AND w.lease_until > clock_timestamp())"
    )


def elapsed() -> float:
    """Returns a monotonic time in seconds that includes time while the machine was suspended (on Linux), which
    `time.monotonic()` does not."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


def local_deadline(lease_seconds: float) -> float:
    """Returns the time (by `elapsed`) until which a lease that is requested now is certainly valid."""
    return elapsed() + lease_seconds * _LOCAL_SHARE


class WorkerLease:
    """The lease of this process. Thread-safe.

    Tests may pass another clock (`now`) and a separate database for the renewals (`own`).
    """

    def __init__(
        self,
        database: Database,
        lease_seconds: float,
        *,
        now: Callable[[], float] = elapsed,
        own: Database | None = None,
    ) -> None:
        self._database = database
        # Not from the shared pool: calls that wait for a lock could use up its connections and delay renewals.
        self._own = own or Database(database.engine.url.render_as_string(hide_password=False), pool_size=1)
        self._lease_seconds = lease_seconds
        self.now = now
        self._renewing = threading.Lock()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._id: str | None = None
        self._deadline = float("-inf")
        #: When the present series of renewals without a gap began.
        self._steady_since: float | None = None

    @property
    def worker_id(self) -> str | None:
        """The worker's id. None before the first registration and after `end`, and also if this worker was reaped and
        its process has not managed to register again.
        """
        return self._id

    def keep(self) -> None:
        """Registers the worker, and renews its lease in a separate thread until `end` is called."""
        self._thread = threading.Thread(target=self._keep, name="worker-lease", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Ends the lease. Claims that are still held lapse as soon as another process reaps this worker."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()
        with self._renewing:
            worker_id, self._id = self._id, None
            try:
                if worker_id is not None:
                    with self._own.reading() as connection:
                        connection.execute(_END, {"id": worker_id})
            except ApiError as error:
                log.warning("lease_not_ended", worker_id=worker_id, reason=error.message)
            self._own.close()

    def renew(self) -> None:
        """Renews the lease, or registers a new worker if the last one was reaped.

        Raises ApiError SERVICE_UNAVAILABLE when the database is away, and after `end`.
        """
        with self._renewing:
            if self._ending.is_set():
                raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=1)
            asked_at = self.now()
            try:
                with self._own.reading() as connection:
                    self._renew(connection)
            except BaseException:
                self._steady_since = None
                raise
            if self._steady_since is None or asked_at >= self._deadline:
                self._steady_since = asked_at
            self._deadline = asked_at + self._lease_seconds * _LOCAL_SHARE

    def lock(self, connection: Connection) -> str:
        """Returns the worker's id for new claims. Until this transaction ends, no other process can reap this worker.

        Raises ApiError SERVICE_UNAVAILABLE when this process has no lease.
        """
        for _ in range(2):
            worker_id = self._id
            if worker_id is not None and connection.execute(_LOCK, {"id": worker_id}).first() is not None:
                return worker_id
            self.renew()
        raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=1)

    def holds(self, worker_id: str | None) -> bool:
        """Whether `worker_id` is this process's worker and its claims are certainly still valid, by this process's own
        clock. Makes no query."""
        return worker_id is not None and worker_id == self._id and self.now() < self._deadline

    def reap(self, lapse: Lapse) -> int:
        """Ends the claims of workers whose lease has expired. Returns how many claims it ended.

        Calls `lapse(connection, worker_id)` in one transaction after another. Each call ends a batch of a worker's
        claims, and returns how many it ended and whether none is left. Rows that are locked are left to the next
        `reap`.

        Does nothing until this process's own renewals have succeeded for GRACE_SECONDS.
        """
        steady_since = self._steady_since
        if steady_since is None or self.now() - steady_since < GRACE_SECONDS:
            return 0
        with self._database.transaction() as connection:
            if not connection.execute(_IS_ANY_EXPIRED).scalar_one():
                return 0
            connection.execute(_MARK)
        lapsed = 0
        locked: list[str] = []
        while True:
            with self._database.transaction() as connection:
                worker_id = connection.execute(_REAPED, {"without": locked}).scalar()
                if worker_id is None:
                    return lapsed
                count, is_done = lapse(connection, worker_id)
                if is_done:
                    connection.execute(_FORGET, {"id": worker_id})
                elif not count:
                    locked.append(worker_id)
            lapsed += count
            log.warning("worker_reaped", worker_id=worker_id, claims=count)

    def _renew(self, connection: Connection) -> None:
        values = {"id": self._id, "lease": self._lease_seconds}
        if self._id is not None and connection.execute(_RENEW, values).rowcount == 1:
            return
        if self._id is not None:
            log.warning("lease_lost", worker_id=self._id)
        self._id = None
        # A new id each time: a registration whose answer was lost is reaped like any silent worker.
        registered = new_id("wrk")
        connection.execute(_REGISTER, values | {"id": registered})
        self._id = registered

    def _keep(self) -> None:
        while not self._ending.is_set():
            try:
                self.renew()
            except ApiError as error:
                log.warning("lease_not_renewed", worker_id=self._id, reason=error.message)
            except Exception:
                log.exception("lease_not_renewed", worker_id=self._id)
            self._ending.wait(RENEW_SECONDS)
