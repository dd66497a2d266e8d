"""The quota service's surface: admission of requests, refunds and the month's counters."""

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
    """The request may go on, or `refused_code` names the limit it hit: then it used nothing of any counter.

    A refusal is an answer and no exception, so that the rate headers travel with it too.
    """

    window: RateWindow
    year_month: str
    refused_code: str | None = None
    refused_extras: dict[str, object] = {}


class Arrival(Record, omit_defaults=True):
    """A request at the door. `meter` names the month bucket it uses besides minute and day.

    meter: "reads" | "publishes" | "replies" | "writes" (counted, without a limit) | "" (minute and day only:
    a replay, or a request whose scope is missing). Writes that publish or reply count as writes as well.
    """

    caller: Caller
    meter: str = ""


class Arrivals(Record):
    """Requests that a gateway process brings together, each judged by itself.

    may_defer: the sender asks again for the requests that get no verdict, because another transaction holds their
    account's counters; without it, all wait for that account and fail with it.
    """

    arrivals: tuple[Arrival, ...]
    may_defer: bool = False


class Verdicts(Record):
    """One verdict per arrival, in order; None: to be asked for again (see `Arrivals`)."""

    verdicts: tuple[Admitted | None, ...]


class Refund(Record):
    """Gives back the month unit of a call that was refused: that of the caller's operation, as of its try.

    Both fields are read by the previous release alone.
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
    """Several at once, of any accounts, each judged by itself. may_defer: as of `Arrivals`."""

    units: tuple[ChargeUnit, ...]
    may_defer: bool = False


class ChargedUnits(Record):
    """One answer per unit, in order; None: to be asked for again (see `Arrivals`)."""

    allowed: tuple[bool | None, ...]


class BucketUse(Record):
    """Use of one monthly bucket; limit and remaining are None for `writes`."""

    used: int
    limit: int | None
    remaining: int | None


class Usage(Record):
    """The month's counters of an account (spec: Account view, quota.monthly)."""

    year_month: str
    resets_at: datetime
    publishes: BucketUse
    replies: BucketUse
    reads: BucketUse
    webhooks: BucketUse
    writes: BucketUse
    total_requests: int


class SetSandboxUse(Record):
    """Operator: sets how many lifetime requests a sandbox token has used."""

    token_id: str
    count: int


@called_by(
    gateway=("admit_all", "refund", "charge_units", "get_usage"),
    ctl=("set_sandbox_use",),
    webhooks=("charge_units",),
)
class QuotaApi(Protocol):
    """RPC surface of the quota service."""

    def admit_all(self, caller: Caller, request: Arrivals) -> Verdicts: ...
    def refund(self, caller: Caller, request: Refund) -> Nothing: ...
    def charge_units(self, caller: Caller, request: ChargeUnits) -> ChargedUnits: ...
    def get_usage(self, caller: Caller, request: Nothing) -> Usage: ...
    def set_sandbox_use(self, caller: Caller, request: SetSandboxUse) -> Nothing: ...
