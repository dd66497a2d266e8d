"""The log of requests, a tab of the screen for developers: what was asked, and the posts and deliveries that it led
to."""

from typing import Any

from flask import Blueprint, render_template, request

from dashboard import api
from dashboard.routes.shared import Places, recent_pages

screens = Blueprint("requests", __name__, url_prefix="/developers/requests")

_ON_A_PAGE = 50
#: The newest tokens, from which the log's filter chooses. Requests of older ones are shown with the token's id.
_TOKENS = 100


@screens.get("")
def index() -> str:
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
    return render_template(
        "requests.html", entries=found.entries, after=found.next_cursor, names=names, is_errors=is_errors,
        filters=filters, is_first="after" not in asked,
    )  # fmt: skip


@screens.get("/<request_id>")
def show(request_id: str) -> str:
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
