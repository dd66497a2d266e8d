"""`posthaste logs`: the account's requests and their errors, once or as they come."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from itertools import islice
from typing import Any

import click

from posthaste import Posthaste, records
from posthaste.cli import output
from posthaste.cli.following import follow
from posthaste.cli.session import Session, pass_session

#: How late a request may be listed, after newer ones: each process of the server writes its own up to a second late.
_LATENESS = timedelta(seconds=10)
_AGO = re.compile(r"(\d{1,6})\s*(s|m|h|d)", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_PAGE = 100


class RequestFollower:
    """Reads the account's log of requests, and returns each request that fits the filters only once."""

    def __init__(self, client: Posthaste, filters: dict[str, Any], first: int) -> None:
        """`first`: how many of the requests that the log holds already the first call of `new` returns."""
        self._client, self._filters, self._first = client, filters, first
        self._seen: dict[str, datetime] = {}
        #: Older requests are not read.
        self._oldest_at: datetime | None = filters.get("since")
        self._newest_at: datetime | None = None
        self._has_looked = False

    def new(self) -> list[records.LogEntry]:
        """Returns the requests that no earlier call has returned, oldest first. If a call raises an exception, the next
        call returns the requests that it missed.
        """
        listed = self._client.iterate_logs(limit=_PAGE, **{**self._filters, "since": self._since()})
        most = None if self._has_looked else max(self._first, _PAGE)
        found = [one for one in islice(listed, most) if one.id not in self._seen]
        if len(found) == most:
            self._oldest_at = found[-1].created_at
        self._remember(found)
        shown = found if self._has_looked else found[: self._first]
        self._has_looked = True
        return shown[::-1]

    def _since(self) -> datetime | None:
        if self._newest_at is None:
            return self._oldest_at
        horizon = self._newest_at - _LATENESS
        return max(horizon, self._oldest_at) if self._oldest_at else horizon

    def _remember(self, found: list[records.LogEntry]) -> None:
        self._seen.update((one.id, one.created_at) for one in found)
        self._newest_at = max(self._seen.values(), default=None)
        since = self._since()
        if since is not None:
            self._seen = {one: at for one, at in self._seen.items() if at >= since}


def _since(_context: click.Context, _parameter: click.Parameter, text: str | None) -> datetime | None:
    """Reads a time: "30m" means 30 minutes ago; an exact time without an offset is in this machine's time zone."""
    if text is None:
        return None
    ago = _AGO.fullmatch(text.strip().lower())
    try:
        if ago is not None:
            return datetime.now(timezone.utc) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        return datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text.strip())).astimezone()
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f'{text!r} is not a time: write for example 30m, 2h, 1d or "2026-12-01 09:00".'
        ) from None


@click.command()
@click.argument("request", metavar="[REQUEST_ID]", required=False)
@click.option("--follow", "-f", "follows", is_flag=True, help="Show requests as they come, until Ctrl-C.")
@click.option("--errors", "errors_only", is_flag=True, help="Only requests that were refused or failed.")
@click.option("--status", type=click.IntRange(100, 599), help="Only answers with this status, such as 429.")
@click.option("--code", help="Only errors with this code, such as RATE_LIMITED.")
@click.option("--operation", help="Only this operation, such as publishPost.")
@click.option(
    "--method",
    type=click.Choice(["GET", "POST", "PUT", "PATCH", "DELETE"], case_sensitive=False),
    help="Only requests with this method.",
)
@click.option(
    "--token-id", metavar="TOK_ID", help="Only requests with this token; whoami --json shows yours."
)
@click.option("--request-id", help="The request with this X-Request-Id.")
@click.option(
    "--since", callback=_since, help='Not before this time: 30m, 2h or 1d ago, or "2026-12-01 09:00".'
)
@click.option("--until", callback=_since, help="Before this time, written in the same way.")
@click.option(
    "--limit",
    "-n",
    default=20,
    show_default=True,
    type=click.IntRange(1, 10_000),
    help="How many of the latest requests to show.",
)
@click.option(
    "--every",
    default=5.0,
    show_default=True,
    type=click.FloatRange(min=0.1),
    help="With --follow: seconds between two polls; a plan limits the requests per minute.",
)
@click.option("--count", type=click.IntRange(min=1), help="With --follow: end after this many requests.")
@pass_session
def logs(
    session: Session,
    /,
    request: str | None,
    follows: bool,
    limit: int,
    every: float,
    count: int | None,
    **filters: Any,
) -> None:
    """Show the account's requests to the API, oldest first.

    Shows time, status, operation, duration, error and request id of each. With --follow, new requests are shown as
    they come, also after the server was away; each look counts as a read. With --json the output is a list; with
    --follow too, it is one object a line. With a REQUEST_ID, shows what this request led to: its posts with their
    attempts, and the webhook deliveries.

    \b
    posthaste logs --errors --since 2h
    posthaste logs req_01m7wd3a6vk238gf482f6cma1w
    posthaste logs --follow --operation publishPost

    The server keeps requests for some time (30 days by default), but never their contents. The token must not be
    limited to brands.
    """
    if follows and filters["until"] is not None:
        raise click.UsageError("--until has no meaning with --follow.")
    if not follows and count is not None:
        raise click.UsageError("--count is for --follow; -n chooses how many are listed.")
    chosen = {name: value for name, value in filters.items() if value not in (None, False)}
    if request is not None:
        if follows or chosen:
            raise click.UsageError("A REQUEST_ID chooses one request: leave out --follow and the filters.")
        details = session.client.get_log(request)
        session.show(details, _details(details))
        return
    if not follows:
        found = list(islice(session.client.iterate_logs(limit=min(limit, _PAGE), **chosen), limit))[::-1]
        header = ("TIME", "STATUS", "REQUEST", "MS", "ERROR", "REQUEST ID")
        session.show(found, output.table(header, map(_row, found), "No request fits."))
        return
    follower, shown = RequestFollower(session.client, chosen, limit), 0

    def look() -> bool:
        nonlocal shown
        for entry in follower.new():
            session.show(entry, _line(entry))
            shown += 1
            if shown == count:
                return True
        return False

    with suppress(KeyboardInterrupt):
        follow(look, every, "Requests are logged meanwhile; trying again.")


def _row(entry: records.LogEntry) -> tuple[Any, ...]:
    error = entry.code or ("replayed" if entry.replayed else "")
    at = _at(entry.created_at)
    return (at, entry.status, f"{entry.method} {entry.path}", entry.duration_ms, error, entry.request_id)


def _line(entry: records.LogEntry) -> str:
    at, status, request, duration, error, request_id = _row(entry)
    return f"{at}  {status}  {request:<32}  {duration:>6} ms  {request_id}  {error}".rstrip()


def _details(found: records.RequestDetails) -> str:
    lines = [_line(entry) for entry in reversed(found.entries)]
    for post in found.posts or ():
        lines.append(
            f"{post.id}  {post.status} on {post.platform} {post.page_id}  {post.permalink or ''}".rstrip()
        )
        for attempt in post.attempts:
            said = f": {attempt.error.message}" if attempt.error else ""
            lines.append(f"  attempt {attempt.number}  {_at(attempt.began_at)}  {attempt.outcome}{said}")
    for delivery in found.deliveries or ():
        lines.append(f"{delivery.id}  {delivery.event} to {delivery.webhook_id}  {delivery.status}")
        for number, tried in enumerate(delivery.attempts, 1):
            answer = tried.status_code or tried.error
            lines.append(f"  attempt {number}  {_at(tried.at)}  {answer} in {tried.duration_ms} ms")
    return "\n".join(lines)


def _at(at: datetime) -> str:
    return at.astimezone().strftime("%Y-%m-%d %H:%M:%S")


COMMANDS = (logs,)
