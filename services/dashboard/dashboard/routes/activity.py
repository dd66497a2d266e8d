"""The screens of what happened: use by day, the log of requests, changes of the credits, and the brands' audit log."""

from typing import Any

from flask import Blueprint, render_template, request

from dashboard import api, charts, dates, words
from dashboard.kept import kept
from dashboard.routes.shared import recent_places

screens = Blueprint("activity", __name__, url_prefix="/activity")

_DAYS = 30
_ON_A_PAGE = 50
#: The newest tokens, from which the log's filter chooses. Requests of older ones are shown with the token's id.
_TOKENS = 100
#: The audit log needs the account only to say "You".
_ACCOUNT_SECONDS = 600.0


@screens.get("")
def usage() -> str:
    client = api.reader()
    told, account = api.together(lambda: client.get_usage(days=_DAYS), client.get_account)
    found = told.days
    days = sorted(found, key=lambda it: it.date)
    names = [dates.day_name(it.date) for it in days]
    requests = charts.bars(
        names,
        [
            {"good": max(it.requests - it.refused - it.failed, 0), "warn": it.refused, "bad": it.failed}
            for it in days
        ],
        [
            f"{name}: {words.count(it.requests, 'request', 'requests')}, {it.refused:,} refused, {it.failed:,} failed"
            for name, it in zip(names, days, strict=True)
        ],
    )
    posts = charts.bars(
        names,
        [{"accent": it.publishes, "calm": it.replies} for it in days],
        [
            f"{name}: {words.count(it.publishes, 'post', 'posts')}, {words.count(it.replies, 'reply', 'replies')}"
            for name, it in zip(names, days, strict=True)
        ],
    )
    return _page(
        "activity_usage.html", "usage", days=days, names=names, requests=requests, posts=posts, quota=account.quota,
        today=days[-1] if days else None,
    )  # fmt: skip


@screens.get("/requests")
def requests() -> str:
    """Shows the log of requests, with its filters."""
    client, asked = api.reader(), request.args
    is_errors = asked.get("errors") == "yes"
    filters: dict[str, Any] = {
        name: asked.get(name, "").strip() or None for name in ("token_id", "request_id", "operation")
    }
    found, tokens = api.together(
        lambda: client.list_logs(
            **filters, errors_only=is_errors or None, limit=_ON_A_PAGE, cursor=asked.get("after") or None
        ),
        lambda: client.list_tokens(limit=_TOKENS).tokens,
    )
    names = {it.id: it.name or it.prefix for it in tokens}
    if (chosen := filters["token_id"]) is not None:
        names.setdefault(chosen, chosen)
    return _page(
        "activity_requests.html", "requests", entries=found.entries, after=found.next_cursor, names=names,
        is_errors=is_errors, filters=filters,
    )  # fmt: skip


@screens.get("/requests/<request_id>")
def one_request(request_id: str) -> str:
    """Shows a request with the posts, attempts and deliveries that it led to: from the log to the reason why a post
    failed."""
    client = api.reader()
    found, places = api.together(lambda: client.get_log(request_id), recent_places(client))
    return render_template("request.html", found=found, request_id=request_id, places=places)


@screens.get("/credits")
def credits() -> str:  # noqa: A001
    found = api.reader().list_credit_ledger(limit=_ON_A_PAGE, cursor=request.args.get("after") or None)
    return _page("activity_credits.html", "credits", entries=found.entries, after=found.next_cursor)


@screens.get("/audit")
def audit() -> str:
    client = api.reader()
    brand_id, cursor = request.args.get("brand") or None, request.args.get("after") or None
    found, places, account = api.together(
        lambda: client.list_audit(brand_id=brand_id, limit=_ON_A_PAGE, cursor=cursor),
        recent_places(client),
        kept("account", _ACCOUNT_SECONDS, client.get_account),
    )
    actors = words.ACTORS | {account.user.id: "You"}
    return _page(
        "activity_audit.html", "audit", entries=found.entries, after=found.next_cursor, places=places,
        actors=actors, brand_id=brand_id or "",
    )  # fmt: skip


def _page(template: str, tab: str, **more: Any) -> str:
    return render_template(template, tab=tab, tabs=_TABS, is_first="after" not in request.args, **more)


#: Screen → its label.
_TABS = {"usage": "Usage", "requests": "Requests", "credits": "Credits", "audit": "Audit log"}
