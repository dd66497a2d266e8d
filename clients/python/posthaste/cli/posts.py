"""Commands about posts: post, schedule, list, show, cancel, retry."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from posthaste import records
from posthaste.cli import output, when
from posthaste.cli.media import FILE, upload_file
from posthaste.cli.session import Session, pass_session

F = TypeVar("F", bound=Callable[..., Any])

_KEY = click.option("--key", help="Idempotency key: a repetition with the same key takes effect once.")


def _content(command: F) -> F:
    """Adds the options of a new post to a command."""
    options = (
        click.argument("message", required=False),
        click.option(
            "--page",
            "pages",
            multiple=True,
            required=True,
            help="Id, name or platform; repeatable.",
        ),
        click.option(
            "--file", "files", multiple=True, type=FILE, help="An image or video to upload; repeatable."
        ),
        click.option("--media-id", "media_ids", multiple=True, help="An uploaded file; repeatable."),
        click.option(
            "--media-url", "media_urls", multiple=True, help="A public address of a file; repeatable."
        ),
        click.option("--first-comment", help="Written below the post as soon as it is out."),
        _KEY,
    )
    for option in reversed(options):
        command = option(command)
    return command


def _fields(
    session: Session,
    message: str | None,
    files: tuple[Path, ...],
    media_ids: tuple[str, ...],
    media_urls: tuple[str, ...],
    first_comment: str | None,
    key: str | None,
) -> dict[str, Any]:
    """Uploads the files, and returns the keyword arguments that schedule_post and publish_post share. Raises
    click.UsageError if the post has neither a message nor a file.
    """
    if not (message or files or media_ids or media_urls):
        raise click.UsageError("Write a message, or name a file.")
    uploaded = [upload_file(session, file).media_id for file in files]
    fields: dict[str, Any] = {
        "media_ids": [*media_ids, *uploaded],
        "media_urls": media_urls,
        "idempotency_key": key,
    }
    if message is not None:
        fields["message"] = message
    if first_comment is not None:
        fields["first_comment"] = first_comment
    return fields


@click.command()
@_content
@pass_session
def post(session: Session, /, pages: tuple[str, ...], **content: Any) -> None:
    """Publish a post now.

    posthaste post "Fresh bread" --page "Corner Bakery" --file bread.jpg
    """
    found = session.find_pages(pages)
    fields = _fields(session, **content)
    if len(found) > 1:
        _show_results(session, session.client.publish_posts(page_ids=[page.id for page in found], **fields))
        return
    made = session.client.publish_post(page_id=found[0].id, **fields)
    session.show(made, output.facts([("published", made.post_id), ("link", made.permalink)]))


@click.command()
@_content
@click.option("--at", "text", required=True, help=f"When: {when.EXAMPLES}.")
@click.option("--zone", help="Time zone of --at, such as Europe/Berlin. By default this machine's.")
@pass_session
def schedule(
    session: Session, /, pages: tuple[str, ...], text: str, zone: str | None, **content: Any
) -> None:
    """Schedule a post.

    posthaste schedule "Fresh bread" --page FB --at "tomorrow 9:00" --zone Europe/Berlin
    """
    at = when.parse(text, datetime.now(timezone.utc), _zone(zone))
    found = session.find_pages(pages)
    fields = _fields(session, **content)
    if len(found) > 1:
        page_ids = [page.id for page in found]
        _show_results(session, session.client.schedule_posts(page_ids=page_ids, scheduled_at=at, **fields))
        return
    made = session.client.schedule_post(page_id=found[0].id, scheduled_at=at, **fields).scheduled_post
    session.show(made, output.facts([("scheduled", made.id), ("for", f"{at:%a %Y-%m-%d %H:%M %z}")]))


def _zone(name: str | None) -> ZoneInfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError):
        raise click.UsageError(f"There is no time zone {name!r}: write one such as Europe/Berlin.") from None


def _show_results(session: Session, results: records.PageResults) -> None:
    """Prints a row per page; exits with 1 if a page was refused."""
    rows = [
        (
            one.page_id,
            one.status,
            one.post.post_id if one.post else one.scheduled_post.id if one.scheduled_post else None,
            (one.error or {}).get("error"),
        )
        for one in results.results
    ]
    session.show(results, output.table(("PAGE", "STATUS", "POST", "ERROR"), rows, ""))
    if any(one.error for one in results.results):
        click.get_current_context().exit(1)


@click.command("list")
@click.option(
    "--status",
    default="queued",
    show_default=True,
    help="queued, held, failed, cancelled, published or all.",
)
@click.option("--page", help="Id, name or platform of a page.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="List at most this many posts."
)
@pass_session
def list_posts(session: Session, status: str, page: str | None, limit: int) -> None:
    """List scheduled posts, soonest first."""
    page_id = session.find_pages([page])[0].id if page else None
    posts = session.client.iterate_scheduled_posts(status=status, page_id=page_id, limit=min(limit, 100))
    found = list(islice(posts, limit))
    rows = [(one.id, one.platform, one.status, one.scheduled_at, one.message) for one in found]
    session.show(
        found, output.table(("ID", "PLATFORM", "STATUS", "TIME", "MESSAGE"), rows, "There is no such post.")
    )


@click.command()
@click.argument("post_id")
@pass_session
def show(session: Session, post_id: str) -> None:
    """Show a post, and what became of it."""
    one = session.client.get_post(post_id).post
    rows = [
        *_facts(one),
        *((f"attempt {tried.number}", _outcome(tried)) for tried in one.attempts),
        ("to do", one.error.recommended_fix if one.error else None),
    ]
    session.show(one, output.facts(rows))


def _outcome(tried: records.PostAttempt) -> str:
    told = f"{output.local(tried.began_at)}: {tried.outcome}"
    return f"{told}, {tried.error.message}" if tried.error else told


@click.command()
@click.argument("post_id")
@_KEY
@pass_session
def cancel(session: Session, post_id: str, key: str | None) -> None:
    """Cancel a post that is queued or held."""
    cancelled = session.client.cancel_post(post_id, idempotency_key=key)
    session.show(cancelled, f"Cancelled {cancelled.id}.")


@click.command()
@click.argument("post_id")
@_KEY
@pass_session
def retry(session: Session, post_id: str, key: str | None) -> None:
    """Queue a failed post again."""
    _show(session, session.client.retry_post(post_id, idempotency_key=key).scheduled_post)


def _show(session: Session, one: records.ScheduledPost) -> None:
    session.show(one, output.facts(_facts(one)))


def _facts(one: records.ScheduledPost | records.FullPost) -> list[tuple[str, Any]]:
    return [
        ("post", one.id),
        ("page", f"{one.page_id} ({one.platform})"),
        ("status", one.status),
        ("time", one.scheduled_at),
        ("published", one.published_at),
        ("link", one.permalink),
        ("error", f"{one.error.code}: {one.error.message}" if one.error else None),
        ("held", one.hold.reason if one.hold else None),
        ("media", [item.src for item in one.media]),
        ("message", one.message),
    ]


COMMANDS = (post, schedule, list_posts, show, cancel, retry)
