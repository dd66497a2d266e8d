"""The screen of what happened: the brands' audit log."""

from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from dashboard import api
from dashboard.routes.shared import recent_places

screens = Blueprint("activity", __name__, url_prefix="/activity")

_ON_A_PAGE = 50
#: Parameters of an address of the log of requests.
_FILTERS = ("token_id", "request_id", "operation", "errors", "people", "after")


@screens.get("")
def index() -> Response:
    """Redirects from `/activity` to the audit log."""
    return redirect(url_for("activity.audit"))


@screens.get("/requests")
@screens.get("/requests/<request_id>")
def moved(request_id: str = "") -> Response:
    """Redirects to the log of requests, which had this address before; somebody may have kept it."""
    if request_id:
        return redirect(url_for("developers.one_request", request_id=request_id))
    kept: dict[str, Any] = {name: request.args[name] for name in _FILTERS if name in request.args}
    return redirect(url_for("developers.requests", **kept))


@screens.get("/audit")
def audit() -> str:
    client = api.reader()
    brand_id, cursor = request.args.get("brand") or None, request.args.get("after") or None
    found, places = api.together(
        lambda: client.list_audit(brand_id=brand_id, limit=_ON_A_PAGE, cursor=cursor), recent_places(client)
    )
    return render_template(
        "activity_audit.html", entries=found.entries, after=found.next_cursor, places=places,
        brand_id=brand_id or "", is_first=cursor is None,
    )  # fmt: skip
