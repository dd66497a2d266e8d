"""What the rest of the service does with credits: charge, refund, show. Rules are `ledger.py`, SQL `store/ledger.py`.

Everything here works inside the caller's open transaction, so that a job and its charge are one thing. The customer's
ledger is locked first; take no other lock before it that a second charge might hold.
"""

from ai.prices import CreditSettings
from ai.store import Connection
from contracts.ai import CreditsAfterCharge, CreditsBalance, GrantCredits
from contracts.caller import Caller
from contracts.errors import ApiError


def charge(
    connection: Connection,
    settings: CreditSettings,
    caller: Caller,
    *,
    operation_id: str,
    job_id: str | None,
    credits: int,  # noqa: A002
    action: str,
) -> CreditsAfterCharge:
    """Takes credits from the caller's account: plan credits first, then referral, then bought ones.

    The same operation id again takes nothing and answers the charge it made, with what is left now.
    Raises ApiError INSUFFICIENT_CREDITS; AI_GENERATION_FAILED when the operation was refunded meanwhile.
    """
    raise NotImplementedError


def refund(connection: Connection, operation_id: str) -> bool:
    """Gives an operation's charge back to where it came from; False when there is none or it was given back already."""
    raise NotImplementedError


def after_charge(connection: Connection, account_id: str, tier: str, charged: int) -> CreditsAfterCharge:
    """What is left now, beside what a job cost (decisions "GET /ai/jobs/{id} credits"). One query, nothing is written."""
    raise NotImplementedError


def balance(connection: Connection, settings: CreditSettings, caller: Caller) -> CreditsBalance:
    """Spec "CreditsBalance". Nothing is written."""
    raise NotImplementedError


def grant(
    connection: Connection, settings: CreditSettings, caller: Caller, request: GrantCredits
) -> CreditsBalance:
    """The operator's hand: bought or referral credits, once per `caller.operation_id`. Raises ApiError MISSING_SCOPE."""
    raise NotImplementedError


def insufficient(
    settings: CreditSettings, *, required: int, available: int, plan_remaining: int, bonus: int
) -> ApiError:
    """INSUFFICIENT_CREDITS with the fields of the spec ("Errors")."""
    raise NotImplementedError
