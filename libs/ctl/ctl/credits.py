"""`credits`: what an account has to spend on AI, given by hand or refilled by itself."""

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
@click.option("--user", "user_id", required=True, help="The account.")
@click.option("--amount", type=click.IntRange(1, 1_000_000), required=True, help="How many bonus credits.")
@click.option("--referral", is_flag=True, help="As credits from a referral.")
@click.option(
    "--reference", help="Yours (an invoice, say): the same one is granted once, however often sent."
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
@click.option("--user", "user_id", required=True, help="The account.")
@pass_session
def show(session: Session, user_id: str) -> None:
    """Show the balance as GET /account/credits does."""
    user = _user(session, user_id)
    caller = replace(session.caller, account_id=user.id, tier=user.tier, verified=user.verified)
    session.show(session.ai.get_credits(caller, Nothing()))


@credits_.command("auto-refill")
@click.option("--user", "user_id", required=True, help="The account.")
@click.option("--threshold", type=click.IntRange(0, 1_000_000), help="Refill when fewer are left than this.")
@click.option("--amount", type=click.IntRange(500, 5_000), help="Credits a time, in steps of 500.")
@click.option("--off", is_flag=True, help="No more refills.")
@click.option("--customer", help="Who pays, by the payment provider's id (cus_…); unsaid: as before.")
@click.option("--payment-method", help="How, by the payment provider's id (pm_…); unsaid: as before.")
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
    """Set an account's auto-refill, with --threshold and --amount, or turn it --off. Prints the balance."""
    if off == (threshold is not None and amount is not None):
        raise click.UsageError("give --threshold and --amount, or --off")
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
    """The account with its tier, which the balance depends on.

    Raises ApiError NOT_FOUND, EMAIL_NOT_VERIFIED where a verified account is asked for.
    """
    return session.accounts.get_user(session.caller, GetUser(user_id=user_id, verified=verified))
