"""Connects the quota service to the bus: RPC methods, events and worker loops. Contains no rules."""

import msgspec

from chassis.db import clock
from chassis.service import DatabaseProvider, forget_old_operations, loop, on_event, rpc
from contracts import quota as contract
from contracts.caller import Caller
from contracts.events import Event, UnitReturned, UnitsUndecided
from contracts.record import Nothing
from quota import usage
from quota.admission import Admissions
from quota.config import QuotaConfig
from quota.store import Connection, Store

_CONFIG = QuotaConfig.from_env()


class QuotaService:
    name = "quota"
    api = contract.QuotaApi
    database = DatabaseProvider()

    @rpc
    def admit_all(self, caller: Caller, request: contract.Arrivals) -> contract.Verdicts:
        admissions = Admissions(self.database, _CONFIG)
        return contract.Verdicts(verdicts=admissions.admit_all(request.arrivals, may_defer=request.may_defer))

    @rpc
    def charge_units(self, caller: Caller, request: contract.ChargeUnits) -> contract.ChargedUnits:
        admissions = Admissions(self.database, _CONFIG)
        return contract.ChargedUnits(
            allowed=admissions.charge_units(request.units, may_defer=request.may_defer)
        )

    @rpc
    def refund(self, caller: Caller, request: Nothing) -> Nothing:
        with self.database.transaction() as connection:
            usage.refund(Store(connection), caller.account_id, caller.operation_id, caller.try_number)
        return Nothing()

    @rpc
    def get_usage(self, caller: Caller, request: Nothing) -> contract.Usage:
        with self.database.reading() as connection:
            return usage.get_usage(Store(connection), caller)

    @rpc
    def set_sandbox_use(self, caller: Caller, request: contract.SetSandboxUse) -> Nothing:
        with self.database.transaction() as connection:
            usage.set_sandbox_use(Store(connection), caller, request)
        return Nothing()

    @on_event("unit.returned")
    def on_unit_returned(self, connection: Connection, event: Event) -> None:
        returned = msgspec.convert(event.data, UnitReturned)
        usage.return_unit(
            Store(connection), event.account_id, returned.operation_id, to_try=returned.try_number
        )

    @on_event("units.undecided")
    def on_units_undecided(self, connection: Connection, event: Event) -> None:
        usage.ask_again(Store(connection), msgspec.convert(event.data, UnitsUndecided))

    @loop(interval_seconds=10.0)
    def ask_about_charges(self) -> bool:
        with self.database.transaction() as connection:
            count = usage.ask_about_charges(Store(connection), _CONFIG.unconfirmed_after)
        return count >= usage.ASK_BATCH  # fewer are gathered until the next tick

    @loop(interval_seconds=60.0)
    def forget_charges(self) -> int:
        with self.database.reading() as connection:
            return usage.forget_charges(Store(connection))

    forget_operations = forget_old_operations

    @loop(interval_seconds=3600.0)
    def forget_counters(self) -> int:
        with self.database.transaction() as connection:
            return usage.forget_counters(Store(connection), clock.now(connection))
