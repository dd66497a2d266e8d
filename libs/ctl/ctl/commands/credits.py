"""`credits`: an account's AI credits, granted by hand or refilled automatically."""

import click
from msgspec.structs import replace

from contracts.accounts import GetUser, User
from contracts.ai import GrantCredits, SetAutoRefill
from contracts.record import Nothing
from ctl.session import Session, pass_session


@click.group("credits")
def credits_() -> None:
    """AI credits of an account."""


@credits_.command()
@click.option("--user", "user_id", required=True, help="Id of the account.")
@click.option("--amount", type=click.IntRange(1, 1_000_000), required=True, help="Number of bonus credits.")
@click.option("--referral", is_flag=True, help="Record them as credits for a referral.")
@click.option(
    "--reference",
    help="Your own reference, such as an invoice number. A repeated reference grants nothing more.",
)
@pass_session
def grant(session: Session, user_id: str, amount: int, referral: bool, reference: str | None) -> None:
    """Grant bonus credits. Prints the balance."""
    user = _user(session, user_id, verified=True)
    if reference:
        session.act_as(f"grant:{user.id}:{reference}")
    request = GrantCredits(account_id=user.id, tier=user.tier, amount=amount, referral=referral)
    session.show(session.ai.grant_credits(session.caller, request))


@credits_.command()
@click.option("--user", "user_id", required=True, help="Id of the account.")
@pass_session
def show(session: Session, user_id: str) -> None:
    """Show the balance, as GET /account/credits does."""
    user = _user(session, user_id)
    caller = replace(session.caller, account_id=user.id, tier=user.tier, verified=user.verified)
    session.show(session.ai.get_credits(caller, Nothing()))


@credits_.command("auto-refill")
@click.option("--user", "user_id", required=True, help="Id of the account.")
@click.option(
    "--threshold", type=click.IntRange(0, 1_000_000), help="Refill when fewer credits than this are left."
)
@click.option("--amount", type=click.IntRange(500, 5_000), help="Credits per refill, in steps of 500.")
@click.option("--off", is_flag=True, help="Turn auto-refill off.")
@click.option("--customer", help="The payment provider's customer id (cus_…). Default: unchanged.")
@click.option("--payment-method", help="The payment provider's payment method id (pm_…). Default: unchanged.")
@pass_session
def auto_refill(
    session: Session,
    user_id: str,
    threshold: int | None,
    amount: int | None,
    off: bool,
    customer: str | None,
    payment_method: str | None,
) -> None:
    """Set up auto-refill with --threshold and --amount, or turn it --off. Prints the balance."""
    if off == (threshold is not None and amount is not None):
        raise click.UsageError("give both --threshold and --amount, or --off")
    user = _user(session, user_id, verified=True)
    request = SetAutoRefill(
        account_id=user.id,
        tier=user.tier,
        enabled=not off,
        threshold=threshold,
        amount=amount,
        payment_customer=customer,
        payment_method=payment_method,
    )
    session.show(session.ai.set_auto_refill(session.caller, request))


def _user(session: Session, user_id: str, *, verified: bool = False) -> User:
    """Returns the account `user_id`. Raises ApiError NOT_FOUND if there is none and, with `verified`,
    EMAIL_NOT_VERIFIED if its address is not verified."""
    return session.accounts.get_user(session.caller, GetUser(user_id=user_id, verified=verified))
