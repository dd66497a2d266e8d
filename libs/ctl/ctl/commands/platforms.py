"""`platform`: what the social platforms report, compared with what Posthaste relies on."""

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
    """Ask the platforms about our apps and pages."""


@platform.command()
@click.argument("platform_code", metavar="PLATFORM", type=PlatformType())
@click.option("--page", "page_id", help="Id of a page on the platform, whose credentials are used.")
@click.option(
    "--post", "has_post", is_flag=True, help="Also make a test post on the page and delete it at once."
)
@click.option(
    "--yes-public",
    "is_public",
    is_flag=True,
    help="Allow a public test post, where there is no other (X, LinkedIn).",
)
@click.option(
    "--photo", "photo_url", help="Public address of a JPEG for Instagram's test; default: the page's picture."
)
@click.option(
    "--report", type=click.File("w", lazy=True), help="Also write the result to this file, as Markdown."
)
@click.pass_context
@pass_session
def check(
    session: Session,
    context: click.Context,
    platform_code: str,
    page_id: str | None,
    has_post: bool,
    is_public: bool,
    photo_url: str | None,
    report: TextIO | None,
) -> None:
    """Check that PLATFORM behaves as Posthaste relies on: credentials, permissions, versions, limits.

    Without --page, only what needs no credentials is checked. Prints no token, and publishes nothing without --post.
    Exits with 1 when a check failed or the platform did not answer.

    The test post is a private video on YouTube, an unpublished post on Facebook, a container on Instagram that is never
    published. On X and LinkedIn every post is public, so a test post is made only with --yes-public. On TikTok a post
    cannot be deleted, so there is no test post. If a check is interrupted, the next one with --post deletes what it
    left.
    """
    if has_post and page_id is None:
        raise click.UsageError("--post needs --page")
    publishing = session.bus.service("publishing")
    request = CheckPlatform(
        platform=platform_code, page_id=page_id, has_post=has_post, is_public=is_public, photo_url=photo_url
    )
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
