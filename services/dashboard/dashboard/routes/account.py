"""The account: its plan, what is left of the month, AI credits and buying them, and where it is signed in."""

from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from dashboard import api, words
from posthaste.errors import ApiError, AuthenticationError

screens = Blueprint("account", __name__)


@screens.get("/account")
def show() -> str:
    return _shown()


@screens.get("/billing")
@screens.get("/billing/packs")
@screens.get("/billing/auto-refill")
def billing() -> Response:
    """The addresses that the API's answers name."""
    return redirect(url_for("account.show", _anchor="credits"))


@screens.post("/account/auto-refill")
def refill() -> str | tuple[str, int] | Response:
    """Turns auto-refill on with a threshold and an amount, or off."""
    form = request.form
    wanted: dict[str, int] = {}
    is_on = form.get("enabled") == "yes"
    try:
        if is_on:
            wanted = {name: int(form.get(name, "")) for name in ("threshold", "amount")}
        api.reader().edit_auto_refill(enabled=is_on, **wanted, idempotency_key=form.get("key") or None)
    except ValueError:
        return _shown("Enter a whole number of credits."), 400
    except AuthenticationError:
        raise
    except ApiError as error:
        if error.status >= 500:
            raise
        return _shown(words.said(error)), error.status
    return redirect(url_for("account.show", done="refill", _anchor="credits"))


def _shown(problem: str = "") -> str:
    client = api.reader()
    told, balance, sessions = api.together(client.get_account, client.get_credits, client.list_sessions)
    return render_template(
        "account.html", account=told, credits=balance, sessions=sessions.sessions, problem=problem
    )


@screens.post("/account/sessions/<session_id>/end")
def end(session_id: str) -> Response:
    """Signs another browser out."""
    api.reader().end_session(session_id, idempotency_key=request.form.get("key") or None)
    return redirect(url_for("account.show", done="ended"))
