"""Serves the calls about an account's credits: the client's balance and auto-refill, and the operator's commands."""

from ai.context import AppContext
from ai.credits import auto_refill, balances
from contracts import ai as api
from contracts.caller import Caller


def balance(context: AppContext, caller: Caller) -> api.CreditsBalance:
    with context.database.reading() as connection:
        return balances.balance(connection, context.settings.credits, caller)


def grant(context: AppContext, caller: Caller, request: api.GrantCredits) -> api.CreditsBalance:
    """Gives an account credits and returns its balance. Raises the errors of `balances.grant`."""
    with context.database.transaction() as connection:
        balances.grant(connection, caller, request)
    return balance(context, _owner(request.account_id, request.tier))


def set_auto_refill(context: AppContext, caller: Caller, request: api.SetAutoRefill) -> api.CreditsBalance:
    """Saves an account's auto-refill settings, for the operator, and returns its balance with them.

    Raises the errors of `auto_refill.set_auto_refill`.
    """
    auto_refill.set_auto_refill(context.database, caller, request)
    return balance(context, _owner(request.account_id, request.tier))


def edit_auto_refill(context: AppContext, caller: Caller, request: api.EditAutoRefill) -> api.CreditsBalance:
    """Saves the caller's auto-refill settings and returns the balance with them.

    Raises the errors of `auto_refill.edit_auto_refill`.
    """
    auto_refill.edit_auto_refill(context.database, caller, request)
    return balance(context, caller)


def _owner(account_id: str, tier: str) -> Caller:
    return Caller(account_id=account_id, user_id=account_id, tier=tier)
