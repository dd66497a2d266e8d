"""The screens of usage and billing, always of the person's own account.

They show how much of the limits of the month, the day and the storage is used, the use of each day, the AI credits, and
what changed the credits. People buy more credits here.
"""

from datetime import UTC, datetime
from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from dashboard import api, charts, dates, times, words
from posthaste.errors import ApiError, AuthenticationError

screens = Blueprint("usage", __name__)

_DAYS = 30
_ON_A_PAGE = 50
#: Screen → its label.
_TABS = {"show": "Usage", "credits": "Credit history"}


@screens.get("/usage")
def show() -> str:
    return _shown()


@screens.get("/usage/credits")
def credits() -> str:  # noqa: A001
    """Shows the list of what changed the account's AI credits."""
    found = api.own().list_credit_ledger(limit=_ON_A_PAGE, cursor=request.args.get("after") or None)
    return _page("usage_credits.html", "credits", entries=found.entries, after=found.next_cursor)


@screens.get("/billing")
@screens.get("/billing/packs")
@screens.get("/billing/auto-refill")
def billing() -> Response:
    """Redirects to the AI credits on the screen of usage. This route has the addresses that the API names in its
    answers about billing.
    """
    return redirect(url_for("usage.show", _anchor="credits"))


@screens.post("/usage/auto-refill")
def refill() -> str | tuple[str, int] | Response:
    """Turns auto-refill of AI credits off, or on with a threshold and an amount."""
    form = request.form
    wanted: dict[str, int] = {}
    is_on = form.get("enabled") == "yes"
    try:
        if is_on:
            wanted = {name: int(form.get(name, "")) for name in ("threshold", "amount")}
        api.own().edit_auto_refill(enabled=is_on, **wanted, idempotency_key=form.get("key") or None)
    except ValueError:
        return _shown("Enter a whole number of credits."), 400
    except AuthenticationError:
        raise
    except ApiError as error:
        if error.status >= 500:
            raise
        return _shown(words.said(error)), error.status
    return redirect(url_for("usage.show", done="refill", _anchor="credits"))


def _shown(problem: str = "") -> str:
    client = api.own()
    used, account, balance = api.together(
        lambda: client.get_usage(days=_DAYS), client.get_account, client.get_credits
    )
    days = sorted(used.days, key=lambda it: it.date)
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
        "usage.html", "show", days=days, names=names, requests=requests, posts=posts, quota=account.quota,
        plan=account.tier, credits=balance, today=days[-1] if days else None, problem=problem,
        day_ends=times.end_of_day(datetime.now(UTC)),
        done=request.args.get("done", ""),
    )  # fmt: skip


def _page(template: str, tab: str, **more: Any) -> str:
    return render_template(template, tab=tab, tabs=_TABS, is_first="after" not in request.args, **more)
