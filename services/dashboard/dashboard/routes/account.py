"""The screens of the account: the person, how they sign in, and the browsers that are signed in."""

from collections.abc import Callable
from functools import partial

from flask import Blueprint, current_app, g, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from dashboard import api, cookies, dates, languages, words
from dashboard.kept import forget, keep, kept, kept_for
from posthaste import Posthaste
from posthaste.errors import ApiError

screens = Blueprint("account", __name__)

#: Sessions on a page of the list.
_SESSIONS = 10

#: Name and time of the kept answer whether signing in asks for a code.
CODES, _CODES_SECONDS = "codes", 60.0

#: Name of the person as they have just changed it, and how long it is shown: for so long a process of the API may still
#: tell what there was before (CALLER_CACHE_SECONDS).
_CHANGED, _CHANGED_SECONDS = "account", 10.0

#: Field of a form → what is wrong with it.
_PROBLEMS = {
    "current_password": "The current password is not right.",
    "password": "The password is not right.",
    "totp_code": "Enter a code that your authenticator app shows now, or a recovery code that you have not used.",
}


@screens.get("/account")
def show() -> str:
    return _shown()


@screens.post("/account/name")
def rename() -> tuple[str, int] | Response:
    form = request.form

    def change() -> None:
        user = api.own().edit_account(
            firstname=form.get("firstname", "").strip(),
            lastname=form.get("lastname", "").strip(),
            idempotency_key=form.get("key") or None,
        )
        keep(_CHANGED, user)

    return _changed(change, url_for("account.show", done="name"))


@screens.post("/account/password")
def change_password() -> tuple[str, int] | Response:
    """Changes the password, which signs out every other browser."""
    form = request.form
    return _changed(
        lambda: api.own().change_password(
            current_password=form.get("current_password", ""),
            new_password=form.get("new_password", ""),
            idempotency_key=form.get("key") or None,
        ),
        url_for("account.show", done="password"),
    )


@screens.get("/account/email")
def email() -> str:
    """Shows the e-mail address, a change of it that waits for confirmation, and a form for another address."""
    return _email()


@screens.post("/account/email")
def change_email() -> tuple[str, int] | Response:
    """Has a mail sent to the new e-mail address. The address changes only when the link in that mail is opened."""
    form = request.form
    return _changed(
        lambda: api.own().change_email(
            email=form.get("email", "").strip(),
            password=form.get("password", ""),
            totp_code=form.get("code", "").strip() or None,
            idempotency_key=form.get("key") or None,
        ),
        url_for("account.email", done="asked"),
        _email,
    )


@screens.post("/account/email/cancel")
def cancel_email() -> tuple[str, int] | Response:
    """Cancels the change of address that waits: the link to the new address stops working."""
    key = request.form.get("key") or None
    return _changed(
        lambda: api.own().cancel_email_change(idempotency_key=key),
        url_for("account.email", done="cancelled"),
        _email,
    )


@screens.post("/account/dates")
def choose_dates() -> tuple[str, int] | Response:
    """Changes the time zone and the language of the dates on every screen."""
    form = request.form

    def change() -> None:
        user = api.own().edit_account(
            timezone=form.get("zone", ""),
            language=form.get("language", ""),
            idempotency_key=form.get("key") or None,
        )
        keep(_CHANGED, user)
        dates.remember(user.timezone, user.language)

    return _changed(change, url_for("account.show", done="dates"))


def _changed(
    change: Callable[[], object], then: str, again: Callable[[str], str] | None = None
) -> tuple[str, int] | Response:
    """Calls `change`, which changes something of the account, then redirects to `then`.

    If the API refuses the change, `again` renders the screen with the reason. Without `again`, the screen of the
    account is shown with the reason.
    """
    try:
        change()
    except ApiError as error:
        if error.status == 401 or error.status >= 500:
            raise
        named = [it.field for it in error.fields]
        problem = _PROBLEMS[named[0]] if len(named) == 1 and named[0] in _PROBLEMS else words.said(error)
        return (again or _shown)(problem), error.status
    return redirect(then)


@screens.post("/account/sessions/<session_id>/end")
def end(session_id: str) -> Response:
    """Signs another browser out by ending its session."""
    api.own().end_session(session_id, idempotency_key=request.form.get("key") or None)
    return redirect(url_for("account.show", done="ended"))


@screens.post("/account/sessions/end")
def end_all() -> Response:
    """Signs out every browser of the person, this browser last."""
    client = api.own()
    others = [it.id for it in client.iterate_sessions(limit=100) if not it.current]
    api.all_of(partial(_end, client), others)
    client.log_out()
    response = redirect(url_for("sign_in.show", ended="all"))
    cookies.sign_out(response, current_app.config["DASHBOARD"].is_https)
    return response


def _end(client: Posthaste, session_id: str) -> None:
    """Ends a session. Succeeds also if the session has ended in the meantime."""
    try:
        client.end_session(session_id)
    except ApiError as error:
        if error.status != 404:
            raise


def _asks_for_codes(client: Posthaste) -> Callable[[], bool]:
    """Returns a function that returns whether signing in asks for a code of an authenticator app, as it was at most a
    minute ago.
    """
    return kept(CODES, _CODES_SECONDS, lambda: client.get_totp().enabled)


def _email(problem: str = "") -> str:
    client = api.own()
    if problem:  # which may be that a code is missing
        forget(CODES)
    me, change, has_codes = api.together(client.get_me, client.get_email_change, _asks_for_codes(client))
    return render_template(
        "account_email.html", address=me.authenticated_as.email, waiting=change.waiting, problem=problem,
        done=request.args.get("done", ""), has_codes=has_codes,
    )  # fmt: skip


def _shown(problem: str = "") -> str:
    client, cursor = api.own(), request.args.get("after") or None
    told, sessions, has_codes = api.together(
        client.get_account,
        lambda: client.list_sessions(limit=_SESSIONS, cursor=cursor),
        _asks_for_codes(client),
    )
    if request.args.get("done") != "dates":  # the API may still show what was chosen before
        dates.remember(told.user.timezone, told.user.language)
    return render_template(
        "account.html", account=told, user=kept_for(_CHANGED, _CHANGED_SECONDS) or told.user,
        sessions=sessions.sessions, after=sessions.next_cursor,
        is_first=cursor is None, problem=problem, has_codes=has_codes,
        dates=g.dates, languages=languages.LANGUAGES,
    )  # fmt: skip
