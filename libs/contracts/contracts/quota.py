"""The quota service's surface: admission of requests, refunds and monthly counters."""

from datetime import datetime
from typing import Protocol

from contracts.caller import Caller
from contracts.record import Nothing, Record
from contracts.senders import called_by


class RateWindow(Record):
    """The minute window of the X-RateLimit headers; `resets_at` is its end."""

    limit: int
    remaining: int
    resets_at: datetime


class Admitted(Record):
    """The request is admitted, or `refused_code` names the limit that it exceeded, and no counter has changed.

    A refusal is a result, not an exception, so that it carries the rate headers too.
    """

    window: RateWindow
    year_month: str
    refused_code: str | None = None
    refused_extras: dict[str, object] = {}


class Arrival(Record, omit_defaults=True):
    """A request to admit. `meter` names the month's bucket that it uses, besides those of the minute and the day.

    meter: "reads" | "publishes" | "replies" | "writes" (counted, without a limit) | "" (minute and day only:
    a replay, or a request whose scope is missing). A request metered as publishes or replies also counts as a write.
    """

    caller: Caller
    meter: str = ""


class Arrivals(Record):
    """A batch of requests from one gateway process. Each is judged separately.

    may_defer: requests whose account's counters are locked by another transaction get no verdict, and the sender asks
    again. Without it, the whole batch waits for that account and fails with it.
    """

    arrivals: tuple[Arrival, ...]
    may_defer: bool = False


class Verdicts(Record):
    """One verdict per arrival, in order. None: ask again (see `Arrivals`)."""

    verdicts: tuple[Admitted | None, ...]


class Refund(Record):
    """Returns the month unit of a refused call, identified by the caller's operation and try.

    Only the previous release reads the two fields.
    """

    meter: str = ""
    year_month: str = ""


class ChargeUnit(Record):
    """Takes one unit of a bucket outside a request (webhook deliveries, further pages). Once per operation id."""

    account_id: str
    tier: str
    bucket: str
    operation_id: str
    try_number: int = 1


class ChargeUnits(Record):
    """A batch of units of any accounts. Each is judged separately. may_defer: see `Arrivals`."""

    units: tuple[ChargeUnit, ...]
    may_defer: bool = False


class ChargedUnits(Record):
    """One answer per unit, in order. None: ask again (see `Arrivals`)."""

    allowed: tuple[bool | None, ...]


class BucketUse(Record):
    """Use of one monthly bucket; limit and remaining are None for `writes`."""

    used: int
    limit: int | None
    remaining: int | None


class Usage(Record):
    """An account's counters of the month (spec: Account view, quota.monthly)."""

    year_month: str
    resets_at: datetime
    publishes: BucketUse
    replies: BucketUse
    reads: BucketUse
    webhooks: BucketUse
    writes: BucketUse
    total_requests: int


class SetSandboxUse(Record):
    """Operator: sets the lifetime request count of a sandbox token."""

    token_id: str
    count: int


@called_by(
    gateway="admit_all refund charge_units get_usage",
    ctl="set_sandbox_use",
    webhooks="charge_units",
)
class QuotaApi(Protocol):
    """RPC surface of the quota service."""

    def admit_all(self, caller: Caller, request: Arrivals) -> Verdicts: ...
    def refund(self, caller: Caller, request: Refund) -> Nothing: ...
    def charge_units(self, caller: Caller, request: ChargeUnits) -> ChargedUnits: ...
    def get_usage(self, caller: Caller, request: Nothing) -> Usage: ...
    def set_sandbox_use(self, caller: Caller, request: SetSandboxUse) -> Nothing: ...
