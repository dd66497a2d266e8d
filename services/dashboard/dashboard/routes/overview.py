"""The overview, the first screen: what the person must take care of, and which posts are published next."""

from datetime import UTC, datetime

from flask import Blueprint, g, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from dashboard import api, cookies, dates, times
from dashboard.kept import kept
from dashboard.routes.shared import Places, recent_places
from posthaste.records import ScheduledPost

screens = Blueprint("overview", __name__)

#: As many posts as fit a screen, those that need attention and the next ones together; the list shows all.
_POSTS = 12
#: The next posts are loaded separately if the posts that need attention leave room for fewer.
_FEWEST_NEXT, _NEXT = 4, 8
_WEBHOOKS_SECONDS, _TODAY_SECONDS = 60.0, 60.0
#: An account has at most so many.
_ALL_WEBHOOKS = 20
#: From this part of a limit on, the API's events and this page warn of it.
_NEAR_SHARE = 0.8
#: Below that AI credits are few. An image costs as many.
_FEW_CREDITS = 10


@screens.get("/")
def show() -> str:
    client = api.reader()
    found, places = api.together(
        lambda: client.list_scheduled_posts(status="queued,failed,held", limit=_POSTS),
        recent_places(client, with_new_pages=True),
    )
    posts, is_cut = found.scheduled_posts, found.next_cursor is not None
    waiting = [it for it in posts if it.status == "queued"]
    broken = [it for it in posts if it.status != "queued"]
    # Posts that failed are older and come first. The page has cost three calls: a part of it asks for the next posts.
    is_later = is_cut and len(waiting) < _FEWEST_NEXT
    return render_template(
        "overview.html",
        waiting=None if is_later else waiting,
        today=None if is_later else _today(waiting, places, is_cut=is_cut),
        broken=broken,
        has_more_broken=is_cut and bool(broken),
        expired=[page for page in places.pages.values() if page.expired],
        lacking=[page for page in places.pages.values() if page.missing_permissions and not page.expired],
        places=places,
    )


@screens.get("/overview/next")
def goes_out_next() -> str | Response:
    """Shows the overview's list of the posts that are published next. It is loaded separately if many posts need
    attention.
    """
    if "HX-Request" not in request.headers:
        return redirect(url_for("posts.index"))
    client = api.reader()
    found, places = api.together(
        lambda: client.list_scheduled_posts(status="queued", limit=_NEXT), recent_places(client)
    )
    waiting = found.scheduled_posts
    today = _today(waiting, places, is_cut=found.next_cursor is not None)
    return render_template("overview_next.html", waiting=waiting, today=today, places=places)


def _today(waiting: list[ScheduledPost], places: Places, *, is_cut: bool) -> tuple[int, bool]:
    """Counts the waiting posts that are published today. For each post, today is the day in its brand's time zone.
    Returns the count, and whether there may be more. `is_cut`: `waiting` has only the first of the waiting posts.
    """
    days = places.by_day(waiting, "scheduled_at", datetime.now(UTC))
    count = sum(len(posts) for day, posts in days if day == dates.TODAY)
    return count, is_cut and bool(days) and days[-1][0] == dates.TODAY


@screens.get("/overview/account")
def account() -> str:
    """Shows the part of the overview about the account: disabled webhooks, limits that are almost reached, and how much
    of the month's posts and of the storage is used.

    With JavaScript this is a part of the overview, without JavaScript a screen of its own.
    """
    client, is_owner = api.reader(), g.shared_work is None
    read_today = kept("today", _TODAY_SECONDS, lambda: client.get_usage(days=1).days)
    disabled, told, days = api.together(
        kept(
            "webhooks",
            _WEBHOOKS_SECONDS,
            lambda: client.list_webhooks(status="disabled", limit=_ALL_WEBHOOKS).webhooks,
        ),
        client.get_account,  # its figures change with every post and file, so they are never kept
        lambda: read_today() if is_owner else [],  # the API tells nobody else the requests of a day
    )
    if is_owner and not g.person:  # a session that began before the dashboard noted whose it is
        cookies.remember_person(told.user.email)
    quota = told.quota
    shares = {
        "posts": (quota.monthly.publishes.used, quota.monthly.publishes.limit),
        "storage": (quota.storage.used_bytes, quota.storage.limit_bytes),
        "replies": (quota.monthly.replies.used, quota.monthly.replies.limit),
        "reads": (quota.monthly.reads.used, quota.monthly.reads.limit),
        "webhooks": (quota.monthly.webhooks.used, quota.monthly.webhooks.limit),
        "requests": (days[0].requests if days else 0, quota.rate_limit.per_day),
    }
    near = [name for name, (used, limit) in shares.items() if limit and used >= _NEAR_SHARE * limit]
    if told.credits.remaining < _FEW_CREDITS and (is_owner or g.shared_work.may("write:ai")):
        near.append("credits")
    is_part = "HX-Request" in request.headers
    return render_template(
        "overview_account.html" if is_part else "overview_account_page.html",
        disabled=disabled, account=told, near=near, requests=shares["requests"], is_page=not is_part,
        day_ends=times.end_of_day(datetime.now(UTC)),
    )  # fmt: skip
