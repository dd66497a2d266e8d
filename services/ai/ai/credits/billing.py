"""What the operator and payment providers do to an account's credits, answered with the balance. Rules: `refill.py`."""

from ai.context import AppContext
from ai.credits import auto_refill, balances, clawbacks
from contracts import ai as api
from contracts.caller import Caller
from contracts.record import Nothing


def balance(context: AppContext, caller: Caller) -> api.CreditsBalance:
    with context.database.reading() as connection:
        return balances.balance(connection, context.settings.credits, caller)


def grant(context: AppContext, caller: Caller, request: api.GrantCredits) -> api.CreditsBalance:
    with context.database.transaction() as connection:
        balances.grant(connection, caller, request)
    return balance(context, _owner(request.account_id, request.tier))


def set_auto_refill(context: AppContext, caller: Caller, request: api.SetAutoRefill) -> api.CreditsBalance:
    auto_refill.set_auto_refill(context.database, caller, request)
    return balance(context, _owner(request.account_id, request.tier))


def take_hook(context: AppContext, request: api.PaymentHook) -> Nothing:
    auto_refill.take_hook(context.database, context.settings.credits, context.payments, request)
    return Nothing()


def forget_unmatched_payments(context: AppContext) -> int:
    return clawbacks.forget_unmatched(context.database)


def run_refills(context: AppContext) -> int:
    return auto_refill.run_refills(context.database, context.settings.credits, context.payments)


def _owner(account_id: str, tier: str) -> Caller:
    return Caller(account_id=account_id, user_id=account_id, tier=tier)
