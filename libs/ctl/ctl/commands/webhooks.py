"""`webhook`: the operator's actions on a subscription."""

import click

from contracts.webhooks import SubscriptionId
from ctl.session import Session, pass_session


@click.group()
def webhook() -> None:
    """Enable a disabled webhook subscription."""


@webhook.command()
@click.argument("webhook_id")
@pass_session
def enable(session: Session, webhook_id: str) -> None:
    """Enable the disabled subscription WEBHOOK_ID, and reset its count of failures."""
    session.show(session.webhooks.enable_subscription(session.caller, SubscriptionId(id=webhook_id)))
