"""`platform`: what the social platforms tell, compared with what Posthaste relies on."""

from datetime import UTC, datetime
from typing import TextIO

import click

from chassis.bus.clients import remote
from contracts.platform_checks import CheckPlatform, PlatformReport
from contracts.platforms import PLATFORMS
from ctl import output
from ctl.commands.pages import PlatformType
from ctl.session import Session, pass_session

COLUMNS = ("check", "state", "expected", "found")
#: Longer than publishing goes on asking (`platform_check`).
_SECONDS = 120.0


@click.group()
def platform() -> None:
    """Platforms: what they tell about our apps and pages."""


@platform.command()
@click.argument("platform_code", metavar="PLATFORM", type=PlatformType())
@click.option("--page", "page_id", help="Id of a page on the platform, whose credentials are used.")
@click.option(
    "--report", type=click.File("w", lazy=True), help="Also write the result to this file, as Markdown."
)
@click.pass_context
@pass_session
def check(
    session: Session, context: click.Context, platform_code: str, page_id: str | None, report: TextIO | None
) -> None:
    """Ask PLATFORM what Posthaste relies on: credentials, permissions, versions, limits.

    Without --page, only what needs no credentials is checked. Publishes nothing and prints no token. Exits with 1 when
    a check failed or the platform did not answer.
    """
    publishing = session.bus.service("publishing")
    request = CheckPlatform(platform=platform_code, page_id=page_id)
    found = remote(publishing.check_platform)(session.caller, request, timeout_seconds=_SECONDS)
    session.show_all(found.checks, COLUMNS)
    if not session.as_json:
        for one in found.checks:
            if one.advice:
                click.echo(f"\n{one.check}: {one.advice}")
    if report is not None:
        report.write(as_markdown(found, datetime.now(UTC)))
    if any(one.state in ("failed", "unknown") for one in found.checks):
        context.exit(1)


def as_markdown(report: PlatformReport, at: datetime) -> str:
    """Formats a report as a Markdown table that can be pasted into an issue."""
    rows = [[str(value) for value in output.plain(one).values()] for one in report.checks]
    header = [["Check", "State", "Expected", "Found", "What to do"], ["---"] * 5]
    lines = [f"| {' | '.join(_cell(text) for text in row)} |" for row in header + rows]
    title = f"{PLATFORMS[report.platform].title}, {at:%Y-%m-%d %H:%M} UTC"
    return "\n".join([f"### {title}", "", *lines, ""])


def _cell(text: str) -> str:
    text = "".join(letter if letter.isprintable() else " " for letter in text)
    return text.replace("|", "\\|") or "–"
