"""The quota service on the bus."""

from typing import Any

from chassis.service import DatabaseProvider, loop, on_event, rpc
from contracts.caller import Caller
from contracts.events import Event
from contracts.quota import (
    Arrivals,
    ChargedUnits,
    ChargeUnits,
    QuotaApi,
    Refund,
    SetSandboxUse,
    Usage,
    Verdicts,
)
from contracts.record import Nothing
from quota import usage
from quota.admission import Admissions
from quota.config import QuotaConfig
from quota.store import Store

_CONFIG = QuotaConfig.from_env()


class QuotaService:
    name = "quota"
    api = QuotaApi
    database = DatabaseProvider()

    @rpc
    def admit_all(self, caller: Caller, request: Arrivals) -> Verdicts:
        return Verdicts(verdicts=Admissions(self.database, _CONFIG).admit_all(request.arrivals))

    @rpc
    def charge_units(self, caller: Caller, request: ChargeUnits) -> ChargedUnits:
        return ChargedUnits(allowed=Admissions(self.database, _CONFIG).charge_units(request.units))

    @rpc
    def refund(self, caller: Caller, request: Refund) -> Nothing:
        with self.database.transaction() as connection:
            usage.refund(Store(connection), caller.account_id, caller.operation_id, request.units)
        return Nothing()

    @rpc
    def get_usage(self, caller: Caller, request: Nothing) -> Usage:
        with self.database.reading() as connection:
            return usage.get_usage(Store(connection), caller)

    @rpc
    def set_sandbox_use(self, caller: Caller, request: SetSandboxUse) -> Nothing:
        with self.database.transaction() as connection:
            usage.set_sandbox_use(Store(connection), caller, request)
        return Nothing()

    @on_event("unit.returned")
    def on_unit_returned(self, connection: Any, event: Event) -> None:
        usage.return_unit(Store(connection), event.account_id, str(event.data["operation_id"]))

    @loop(interval_seconds=60.0)
    def forget_charges(self) -> int:
        with self.database.transaction() as connection:
            return usage.forget_charges(Store(connection))
