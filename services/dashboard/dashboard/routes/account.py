"""The account: its plan, what is left of the month, AI credits, and where it is signed in."""

from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from dashboard import api

screens = Blueprint("account", __name__, url_prefix="/account")


@screens.get("")
def show() -> str:
    client = api.reader()
    told, balance, sessions = api.together(client.get_account, client.get_credits, client.list_sessions)
    return render_template("account.html", account=told, credits=balance, sessions=sessions.sessions)


@screens.post("/sessions/<session_id>/end")
def end(session_id: str) -> Response:
    """Signs another browser out."""
    api.reader().end_session(session_id, idempotency_key=request.form.get("key") or None)
    return redirect(url_for("account.show", done="ended"))
