"""The first screen: what needs the person, and what goes out next."""

from flask import Blueprint, render_template

from dashboard import api
from dashboard.routes.shared import Places

screens = Blueprint("overview", __name__)

#: As many posts as fit a screen; the list shows all.
_NEXT = 8
_PROBLEMS = 10


@screens.get("/")
def show() -> str:
    client = api.reader()
    waiting, broken, places = api.together(
        lambda: client.list_scheduled_posts(limit=_NEXT),
        lambda: client.list_scheduled_posts(status="failed,held", limit=_PROBLEMS),
        lambda: Places(client),
    )
    return render_template(
        "overview.html",
        waiting=waiting.scheduled_posts,
        broken=broken.scheduled_posts,
        has_more_broken=broken.next_cursor is not None,
        expired=[page for page in places.pages.values() if page.expired],
        places=places,
    )


@screens.get("/overview/account")
def account() -> str:
    """The part of the overview about the account: webhooks that were disabled, and what is left of the month."""
    client = api.reader()
    hooks, told = api.together(lambda: list(client.iterate_webhooks(limit=100)), client.get_account)
    disabled = [hook for hook in hooks if hook.status == "disabled"]
    return render_template("overview_account.html", disabled=disabled, account=told)
