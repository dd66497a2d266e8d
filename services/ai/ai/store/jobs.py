"""SQL of jobs. A statement that changes a claimed job checks in its own condition that the claim still holds."""

from datetime import UTC, datetime
from typing import Any, get_args

import msgspec
from sqlalchemy import RowMapping, TextClause, insert, select, text

from ai.models import jobs
from ai.records import CAPTION, Claim, Job
from ai.store import Connection
from chassis.db.clock import clock_now
from chassis.db.ranges import distinct_values
from contracts.ai import JobKind
from contracts.media import Media

#: Jobs that go on after their process died: videos, and images that are in storage already.
_RESUMABLE = "(kind = 'video' OR upload_id IS NOT NULL)"
_CLAIM_DUE = text(
    f"""
    UPDATE jobs j SET fence = j.fence + 1, wake_at = clock_timestamp() + make_interval(secs => :lease)
    FROM (
        SELECT id FROM jobs WHERE state = 'processing' AND {_RESUMABLE} AND wake_at <= clock_timestamp()
        ORDER BY wake_at LIMIT :limit FOR UPDATE SKIP LOCKED) due
    WHERE j.id = due.id RETURNING j.*
    """
)
#: Jobs whose claim has lapsed and that cannot go on, and jobs over the time limit.
_LOST = f"""
    state = 'processing' AND (
        (NOT {_RESUMABLE} AND wake_at <= clock_timestamp())
        OR created_at <= clock_now() - make_interval(secs => :limit_seconds))
"""
_FIND_LOST = text(f"SELECT id, fence FROM jobs WHERE {_LOST} ORDER BY created_at LIMIT :limit")
_FAIL = """
    UPDATE jobs SET state = 'failed', credits_charged = 0, error = :error, error_code = :code,
        fence = fence + 1, wake_at = NULL, completed_at = clock_now()
    WHERE id = :id AND fence = :fence AND state = 'processing'
"""
_FAIL_HELD = text(f"{_FAIL} RETURNING *")
_FAIL_LOST = text(f"{_FAIL} AND {_LOST} RETURNING *")
_COMPLETE = text(
    """
    UPDATE jobs SET state = 'completed', media = CAST(:media AS jsonb), caption = :caption,
        wake_at = NULL, completed_at = clock_now()
    WHERE id = :id AND fence = :fence AND state = 'processing' RETURNING *
    """
)
_HELD = "WHERE id = :id AND fence = :fence AND state = 'processing'"
_RENEW = text(
    """
    UPDATE jobs j SET wake_at = clock_timestamp() + make_interval(secs => :lease) FROM (
        SELECT o.id FROM jobs o JOIN unnest(:ids, CAST(:fences AS bigint[])) AS v(id, fence)
            ON o.id = v.id AND o.fence = v.fence
        WHERE o.state = 'processing' AND o.wake_at > clock_timestamp()
        FOR UPDATE OF o SKIP LOCKED) held
    WHERE j.id = held.id
    """
)
_BEGIN_START = text(
    f"UPDATE jobs SET starts = starts + 1, provider = :provider {_HELD} AND provider_operation IS NULL"
)
_NOT_STARTED = text(
    f"""
    UPDATE jobs SET starts = starts - 1, wake_at = clock_timestamp() + make_interval(secs => :seconds) {_HELD}
    """
)
_STARTED = text(f"UPDATE jobs SET provider_operation = :operation {_HELD}")
_UPLOADED = text(f"UPDATE jobs SET upload_id = :upload_id, upload_bytes = :upload_bytes {_HELD}")
_PUT_OFF = text(f"UPDATE jobs SET wake_at = clock_timestamp() + make_interval(secs => :seconds) {_HELD}")
_FORGET_CAPTIONS = text(
    """
    DELETE FROM jobs WHERE id IN (
        SELECT id FROM jobs WHERE kind = 'caption' AND state <> 'processing'
            AND created_at < clock_now() - make_interval(days => :days) ORDER BY created_at LIMIT :limit)
    """
)


_NEWEST = """
    SELECT * FROM jobs WHERE account_id = :account_id AND kind = of_kind AND kind <> 'caption' {only}
        AND (created_at, id) < (:before_at, :before_id)
    ORDER BY created_at DESC, id DESC LIMIT :limit
    """
_END = "ORDER BY head.created_at DESC, head.id DESC LIMIT :limit"
_OF_KINDS = "unnest(CAST(:kinds AS text[])) AS of_kind"
_IN_STATE = "AND state = :state"
_RESTRICTED = "account_id = :account_id AND kind <> 'caption' AND token_brand_ids IS NOT NULL"
_WITHIN = "AND token_brand_ids IS NOT NULL AND token_brand_ids = restrictions.token_brand_ids"
_KINDS = list(get_args(JobKind))
_LAST = datetime.max.replace(tzinfo=UTC)


def _listed(only: str) -> TextClause:
    """Returns the statement that lists the newest jobs of the requested kinds, without captions. `only`: a further SQL
    condition.
    """
    return text(f"SELECT head.* FROM {_OF_KINDS}, LATERAL ({_NEWEST.format(only=only)}) head {_END}")


def _listed_within(only: str) -> TextClause:
    """Returns the statement that lists the newest jobs of the requested kinds, for a token that is limited to brands.
    `only`: a further SQL condition.

    Jobs are grouped by the brands to which the token that made them was limited. The statement reads only the newest
    jobs of each group, so its cost does not grow with the number of jobs.
    """
    return text(
        f"""
        WITH RECURSIVE {distinct_values("restrictions", "jobs", "token_brand_ids", _RESTRICTED)}
        SELECT head.* FROM restrictions, {_OF_KINDS}, LATERAL ({_NEWEST.format(only=f"{_WITHIN} {only}")}) head
        WHERE restrictions.token_brand_ids <@ CAST(:reach AS text[]) {_END}
        """
    )


#: By whether the caller is limited to brands, and whether only jobs of one state are listed.
_LISTS = {
    (False, False): _listed(""),
    (False, True): _listed(_IN_STATE),
    (True, False): _listed_within(""),
    (True, True): _listed_within(_IN_STATE),
}


class Jobs:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, values: dict[str, Any], lease_seconds: float) -> Job:
        """Adds a job, which is claimed for this process for `lease_seconds`, and returns it. The job's operation must
        be locked.
        """
        wake_at = text("clock_timestamp() + make_interval(secs => :lease)").bindparams(lease=lease_seconds)
        statement = insert(jobs).values(
            **values,
            state="processing",
            credits_charged=values["credits"],
            created_at=clock_now(),
            fence=1,
            starts=0,
            wake_at=wake_at,
        )
        return Job.of(self._connection.execute(statement.returning(jobs)).mappings().one())

    def by_operation(self, account_id: str, operation_id: str | None) -> Job | None:
        """Returns the job that this operation made; None if it made none."""
        if operation_id is None:
            return None
        return self._one(
            select(jobs).where(jobs.c.operation_id == operation_id, jobs.c.account_id == account_id)
        )

    def get(self, account_id: str, job_id: str, brand_ids: tuple[str, ...] | None) -> Job | None:
        """Returns a job of the account that a token may access; None if there is none. Jobs of captions are not
        returned.

        `brand_ids`: the brands that the token is limited to; None: all.
        """
        return self._one(self._visible(account_id, brand_ids).where(jobs.c.id == job_id))

    def newest(
        self,
        account_id: str,
        *,
        brand_ids: tuple[str, ...] | None,
        kind: str | None,
        status: str | None,
        before: tuple[datetime, str] | None,
        limit: int,
    ) -> list[Job]:
        """Returns one page of the jobs that a token may see, newest first, without those of captions.

        `brand_ids`: the brands that the token is limited to, None for all. `kind`, `status`: lists only jobs of this
        kind, or in this state. `before`: (created_at, id) of the last job of the previous page.
        """
        before_at, before_id = before or (_LAST, "")
        values = {
            "account_id": account_id,
            "kinds": _KINDS if kind is None else [kind],
            "reach": list(brand_ids or ()),
            "before_at": before_at,
            "before_id": before_id,
            "limit": limit,
        } | ({} if status is None else {"state": status})
        rows = self._connection.execute(_LISTS[brand_ids is not None, status is not None], values)
        return [Job.of(row) for row in rows.mappings()]

    def claim_due(self, limit: int, lease_seconds: float) -> list[Job]:
        """Claims at most `limit` videos whose next step is due, and images whose bytes are stored but whose worker
        died.
        """
        rows = self._connection.execute(_CLAIM_DUE, {"limit": limit, "lease": lease_seconds})
        return [Job.of(row) for row in rows.mappings()]

    def renew(self, claims: list[Claim], lease_seconds: float) -> None:
        if claims:
            split = {"ids": [claim.id for claim in claims], "fences": [claim.fence for claim in claims]}
            self._connection.execute(_RENEW, {**split, "lease": lease_seconds})

    def note_start_attempt(self, claim: Claim, provider: str) -> bool:
        """Counts one more try to start the video and stores its provider, just before the worker calls the provider.
        Returns False if the job has ended, another worker has claimed it, or the video has been started already.
        """
        return self._changed(_BEGIN_START, claim, provider=provider)

    def note_start_deferred(self, claim: Claim, seconds: float) -> bool:
        """Uncounts a try to start the video, because the provider asked to try later. The next try is due in `seconds`.
        Returns False if the job has ended or another worker has claimed it.
        """
        return self._changed(_NOT_STARTED, claim, seconds=seconds)

    def started(self, claim: Claim, operation: str) -> bool:
        """Stores the provider's id of the operation that makes the video. Returns False if the job has ended or another
        worker has claimed it.
        """
        return self._changed(_STARTED, claim, operation=operation)

    def uploaded(self, claim: Claim, upload_id: str, upload_bytes: int) -> bool:
        """Stores that the generated file's bytes are in object storage. Returns False if the job has ended or another
        worker has claimed it.
        """
        return self._changed(_UPLOADED, claim, upload_id=upload_id, upload_bytes=upload_bytes)

    def postpone(self, claim: Claim, seconds: float) -> bool:
        """Ends the step and its claim: the next step is due in `seconds`. Returns False if the job has ended or another
        worker has claimed it.
        """
        return self._changed(_PUT_OFF, claim, seconds=seconds)

    def complete(self, claim: Claim, *, media: Media | None = None, caption: str | None = None) -> Job | None:
        """Marks the job as completed and returns it. Returns None if the job has ended or another worker has claimed
        it.
        """
        stored = None if media is None else msgspec.json.encode(media).decode()
        return self._one(_COMPLETE, {**claim._asdict(), "media": stored, "caption": caption})

    def completed_by(self, claim: Claim) -> Job | None:
        """Returns the job if this very claim has completed it; otherwise None."""
        return self._one(
            select(jobs).where(
                jobs.c.id == claim.id, jobs.c.fence == claim.fence, jobs.c.state == "completed"
            )
        )

    def fail(self, claim: Claim, code: str, error: str) -> Job | None:
        """Marks the job as failed and returns it. Returns None if the job has ended or another worker has claimed it.
        Refund the job in the same transaction.
        """
        return self._one(_FAIL_HELD, {**claim._asdict(), "code": code, "error": error})

    def has_failed(self, job_id: str) -> bool:
        statement = select(jobs.c.id).where(jobs.c.id == job_id, jobs.c.state == "failed")
        return self._connection.execute(statement).first() is not None

    def lost(self, limit_seconds: float, limit: int) -> list[Claim]:
        """Returns the claims of jobs that no worker will finish: the job's process died and no other can continue it,
        or the job is over the time limit.
        """
        rows = self._connection.execute(_FIND_LOST, {"limit_seconds": limit_seconds, "limit": limit})
        return [Claim(row.id, row.fence) for row in rows]

    def fail_lost(self, claim: Claim, code: str, error: str, limit_seconds: float) -> Job | None:
        """Marks a lost job as failed and returns it; None if it is no longer lost (see `lost`). The caller refunds it
        in the same transaction.
        """
        values = {**claim._asdict(), "code": code, "error": error, "limit_seconds": limit_seconds}
        return self._one(_FAIL_LOST, values)

    def forget_captions(self, days: int, limit: int) -> int:
        """Deletes old captions, which are kept only for repeated calls. Returns how many it deleted."""
        return self._connection.execute(_FORGET_CAPTIONS, {"days": days, "limit": limit}).rowcount

    @staticmethod
    def _visible(account_id: str, brand_ids: tuple[str, ...] | None) -> Any:
        """Returns the statement that selects the jobs that a token may see (docs/decisions.md, "Who sees and pays
        what").

        `brand_ids`: the brands to which the token is limited, None for all. A limited token sees a job only if the
        token that made the job was limited too, and only to brands among `brand_ids`.
        """
        statement = select(jobs).where(jobs.c.account_id == account_id, jobs.c.kind != CAPTION)
        if brand_ids is not None:
            reach = text("CAST(:reach AS text[])").bindparams(reach=list(brand_ids))
            statement = statement.where(jobs.c.token_brand_ids.op("<@")(reach))
        return statement

    def _changed(self, statement: Any, claim: Claim, **values: Any) -> bool:
        return self._connection.execute(statement, {**claim._asdict(), **values}).rowcount == 1

    def _one(self, statement: Any, parameters: dict[str, Any] | None = None) -> Job | None:
        row: RowMapping | None = self._connection.execute(statement, parameters).mappings().first()
        return Job.of(row) if row else None
