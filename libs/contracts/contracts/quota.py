"""The contract of the quota service: admission of requests, refunds and monthly counters."""

from datetime import datetime
from typing import Protocol

from contracts.caller import Caller
from contracts.record import Nothing, Record
from contracts.senders import called_by


class RateWindow(Record):
    """The limit of requests in the current minute, for the X-RateLimit headers. The minute ends at `resets_at`."""

    limit: int
    remaining: int
    resets_at: datetime


class Admitted(Record):
    """The answer to one request for admission: admitted, or refused by the limit that `refused_code` names.

    A refusal changes no counter. It is returned and not raised, because a refused request needs `window` too.
    """

    window: RateWindow
    year_month: str
    refused_code: str | None = None
    refused_extras: dict[str, object] = {}


class Arrival(Record, omit_defaults=True):
    """A request that asks for admission.

    `meter` is the monthly counter that the request uses: "reads", "publishes", "replies", "writes", or "" for none.
    "writes" has no limit; "publishes" and "replies" count as writes too. A request that gets the stored answer of its
    idempotency key has "", and so has one whose token lacks the scope. Both count only for the minute and the day.
    """

    caller: Caller
    meter: str = ""


class Arrivals(Record):
    """A batch of requests that ask for admission, from one gateway process. Each is decided separately.

    `may_defer`: if another transaction has locked an account's counters, the account's requests get no answer (None),
    and the sender asks again. Without `may_defer` the whole batch waits for that lock, and fails if the wait takes too
    long.
    """

    arrivals: tuple[Arrival, ...]
    may_defer: bool = False


class Verdicts(Record):
    """One answer for each request of an `Arrivals`, in the same order.

    A request has None if its account was locked, which can happen only with `may_defer`. Ask again for that request.
    """

    verdicts: tuple[Admitted | None, ...]


class ChargeUnit(Record):
    """A request to use one unit of a monthly counter for work that is no API request of its own: a webhook delivery, or
    each further page of a call for several pages.

    Takes effect once per operation id.
    """

    account_id: str
    tier: str
    bucket: str
    operation_id: str
    try_number: int = 1


class ChargeUnits(Record):
    """A batch of requests for units of monthly counters, of any accounts. Each is decided separately.

    `may_defer`: if another transaction has locked an account's counters, the account's units get no answer (None).
    Without `may_defer`, the whole batch waits for that lock.
    """

    units: tuple[ChargeUnit, ...]
    may_defer: bool = False


class ChargedUnits(Record):
    """For each unit of a `ChargeUnits`, in the same order, whether it was granted.

    A unit has None if its account was locked, which can happen only with `may_defer`. Ask again for that unit.
    """

    allowed: tuple[bool | None, ...]


class BucketUse(Record):
    """The use of one monthly counter. `limit` and `remaining` are None for `writes`, which have no limit."""

    used: int
    limit: int | None
    remaining: int | None


class Usage(Record):
    """An account's use of its monthly counters in this month (spec.md, "Account view", quota.monthly)."""

    year_month: str
    resets_at: datetime
    publishes: BucketUse
    replies: BucketUse
    reads: BucketUse
    webhooks: BucketUse
    writes: BucketUse
    total_requests: int


class SetSandboxUse(Record):
    """The operator's request to set how many requests a sandbox token has used in its lifetime."""

    token_id: str
    count: int


@called_by(
    gateway="admit_all refund charge_units get_usage",
    ctl="set_sandbox_use",
    webhooks="charge_units",
)
class QuotaApi(Protocol):
    """The RPC methods of the quota service."""

    def admit_all(self, caller: Caller, request: Arrivals) -> Verdicts: ...
    # Gives back the unit that a refused call used of a monthly counter: that of the caller's operation and try.
    def refund(self, caller: Caller, request: Nothing) -> Nothing: ...
    def charge_units(self, caller: Caller, request: ChargeUnits) -> ChargedUnits: ...
    def get_usage(self, caller: Caller, request: Nothing) -> Usage: ...
    def set_sandbox_use(self, caller: Caller, request: SetSandboxUse) -> Nothing: ...
