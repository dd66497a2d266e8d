"""`webhook`: its service is not part of this release; the command says so."""

from typing import NoReturn

import click

from contracts.errors import ApiError, ErrorRow

NOT_IN_THIS_RELEASE = ErrorRow(
    code="NOT_IN_THIS_RELEASE",
    http_status=501,
    category="server",
    message="This release does not have the service this command belongs to.",
    recommended_fix="Update to a release that has it.",
)


def _refuse(service: str) -> NoReturn:
    raise ApiError(NOT_IN_THIS_RELEASE, f"This release has no {service} service.", service=service)


@click.group()
def webhook() -> None:
    """Webhook subscriptions (not in this release)."""


@webhook.command()
@click.argument("webhook_id")
def enable(webhook_id: str) -> None:
    """Enable the disabled subscription WEBHOOK_ID again (not in this release)."""
    _refuse("webhooks")
