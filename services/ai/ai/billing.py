"""What the operator and payment providers do to an account's credits, answered with the balance. Rules: `refill.py`."""

from ai import clawbacks, refill
from ai import credits as ledger
from ai.house import House
from contracts import ai as api
from contracts.caller import Caller
from contracts.record import Nothing


def balance(house: House, caller: Caller) -> api.CreditsBalance:
    with house.database.reading() as connection:
        return ledger.balance(connection, house.settings.credits, caller)


def grant(house: House, caller: Caller, request: api.GrantCredits) -> api.CreditsBalance:
    with house.database.transaction() as connection:
        ledger.grant(connection, caller, request)
    return balance(house, _owner(request.account_id, request.tier))


def set_auto_refill(house: House, caller: Caller, request: api.SetAutoRefill) -> api.CreditsBalance:
    refill.set_auto_refill(house.database, caller, request)
    return balance(house, _owner(request.account_id, request.tier))


def take_hook(house: House, request: api.PaymentHook) -> Nothing:
    refill.take_hook(house.database, house.settings.credits, house.payments, request)
    return Nothing()


def forget_unmatched_payments(house: House) -> int:
    return clawbacks.forget_unmatched(house.database)


def run_refills(house: House) -> int:
    return refill.run_refills(house.database, house.settings.credits, house.payments)


def _owner(account_id: str, tier: str) -> Caller:
    return Caller(account_id=account_id, user_id=account_id, tier=tier)
