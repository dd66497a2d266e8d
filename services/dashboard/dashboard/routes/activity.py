"""The screens of what happened: the log of requests, and the brands' audit log."""

from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from dashboard import api
from dashboard.routes.shared import Places, recent_pages, recent_places

screens = Blueprint("activity", __name__, url_prefix="/activity")

_ON_A_PAGE = 50
#: The newest tokens, from which the log's filter chooses. Requests of older ones are shown with the token's id.
_TOKENS = 100


@screens.get("")
def index() -> Response:
    """Redirects to the first of the two screens: the menu says only "Activity"."""
    return redirect(url_for("activity.requests"))


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
    """Shows a request with its token, and the posts, attempts and deliveries that it led to.

    So a person finds the way from the log to the reason why a post failed.
    """
    client = api.reader()
    found, pages, tokens = api.together(
        lambda: client.get_log(request_id),
        recent_pages(client),
        lambda: client.list_tokens(limit=_TOKENS).tokens,
    )
    return render_template(
        "request.html", found=found, request_id=request_id, places=Places(pages, {}),
        names={it.id: it.name or it.prefix for it in tokens},
    )  # fmt: skip


@screens.get("/audit")
def audit() -> str:
    client = api.reader()
    brand_id, cursor = request.args.get("brand") or None, request.args.get("after") or None
    found, places = api.together(
        lambda: client.list_audit(brand_id=brand_id, limit=_ON_A_PAGE, cursor=cursor), recent_places(client)
    )
    return _page(
        "activity_audit.html", "audit", entries=found.entries, after=found.next_cursor,
        places=places, brand_id=brand_id or "",
    )  # fmt: skip


def _page(template: str, tab: str, **more: Any) -> str:
    return render_template(template, tab=tab, tabs=_TABS, is_first="after" not in request.args, **more)


#: Screen → its label.
_TABS = {"requests": "Requests", "audit": "Audit log"}
