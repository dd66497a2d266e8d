"""The screen of what happened: the brands' audit log."""

from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from dashboard import api
from dashboard.routes.shared import recent_places

screens = Blueprint("activity", __name__, url_prefix="/activity")

_ON_A_PAGE = 50


@screens.get("")
def index() -> Response:
    """Redirects from `/activity` to the audit log."""
    return redirect(url_for("activity.audit"))


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
