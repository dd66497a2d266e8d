"""The use cases of the service quota, run in this process on one database."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from bench.scale.comparing import Operation
from bench.scale.copying import ago, copying, id_of, line, spread, stamp
from bench.scale.server import Opened
from bench.scale.sizes import Sizes
from chassis.ids import new_id
from contracts.caller import Caller
from contracts.quota import Arrival, ChargeUnit
from quota import usage
from quota.admission import Admissions
from quota.config import QuotaConfig
from quota.store import Store

TABLES = ("counters", "unit_charges")
#: Number of requests that the gateway sends in one batch.
_TOGETHER = 16


class Quota(Opened):
    """quota's database of one set, and the service's use cases on it."""

    def __init__(self, run: Path, each: str, sizes: Sizes) -> None:
        super().__init__(run, "quota", each)
        self.sizes = sizes
        self.admissions = Admissions(self.database, QuotaConfig(upgrade_url="https://posthaste.test/pricing"))

    def seed(self) -> None:
        now = datetime.now(UTC)
        with copying(self.admin_url, TABLES) as copier:
            copier.fill("counters", ("subject", "year_month", "publishes"), self._counters(now))
            columns = ("operation_id", "account_id", "year_month", "bucket", "created_at")
            copier.fill("unit_charges", columns, self._charges(now))

    def _counters(self, now: datetime) -> Iterator[str]:
        return (line(id_of("usr", n), f"{now:%Y-%m}", 12) for n in range(self.sizes.accounts))

    def _charges(self, now: datetime) -> Iterator[str]:
        """Yields rows of unit charges in COPY's text format. All are younger than three days, so that the clean-up
        deletes none.
        """
        for n, at in enumerate(spread(self.sizes.charges, ago(now, days=2.9), now)):
            account = id_of("usr", n % self.sizes.accounts)
            yield line(id_of("op", n, at), account, f"{at:%Y-%m}", "publishes", stamp(at))

    def caller(self, number: int) -> Caller:
        account = id_of("usr", number * 7919 % self.sizes.accounts)
        return Caller(account_id=account, user_id=account, tier="elite", operation_id=new_id("op"))


def operations() -> list[Operation[Quota]]:
    return [
        Operation(f"admission of {_TOGETHER} keyed writes", _admit),
        Operation("month unit of a webhook delivery", _charge),
        Operation("a unit is given back", _refund, before=_charge_first),
        Operation("GET /usage", _usage),
        Operation("old charges are forgotten, none", _forget),
        Operation("publishing is asked about charges, none", _ask),
    ]


def _admit(world: Quota, number: int) -> object:
    callers = [world.caller(number * _TOGETHER + n) for n in range(_TOGETHER)]
    return world.admissions.admit_all([Arrival(caller=caller, meter="publishes") for caller in callers])


def _charge(world: Quota, number: int) -> object:
    caller = world.caller(number)
    unit = ChargeUnit(
        account_id=caller.account_id, tier="elite", bucket="webhooks", operation_id=new_id("dlv")
    )
    return world.admissions.charge_units([unit])


def _charge_first(world: Quota, number: int) -> None:
    caller = world.caller(number)
    operation_id = id_of("op", 5_000_000 + number)
    world.run_sql(f"DELETE FROM unit_charges WHERE operation_id = '{operation_id}'")
    unit = ChargeUnit(
        account_id=caller.account_id, tier="elite", bucket="publishes", operation_id=operation_id
    )
    world.admissions.charge_units([unit])


def _refund(world: Quota, number: int) -> None:
    with world.database.transaction() as connection:
        account_id, operation_id = world.caller(number).account_id, id_of("op", 5_000_000 + number)
        usage.refund(Store(connection), account_id, operation_id, 1)


def _usage(world: Quota, number: int) -> object:
    with world.database.reading() as connection:
        return usage.get_usage(Store(connection), world.caller(number))


def _forget(world: Quota, number: int) -> object:
    with world.database.transaction() as connection:
        return usage.forget_charges(Store(connection))


def _ask(world: Quota, number: int) -> object:
    with world.database.transaction() as connection:
        return usage.ask_about_charges(Store(connection), QuotaConfig(upgrade_url="").unconfirmed_after)
