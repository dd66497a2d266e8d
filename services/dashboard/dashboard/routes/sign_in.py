"""The screens for signing in and out, and for a forgotten password."""

from flask import Blueprint, current_app, g, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from dashboard import api, cookies, dates, times, words
from dashboard.routes.shared import too_many_tries
from dashboard.routes.shared_work import joined_work, only_shared_work
from posthaste.errors import (
    ApiError,
    AuthenticationError,
    InvalidRequest,
    LimitReached,
    PermissionDenied,
    PosthasteError,
)

screens = Blueprint("sign_in", __name__)

_CODE_PROBLEMS = {
    "TOTP_REQUIRED": "Enter your password again, with the code that your authenticator app shows.",
    "INVALID_TOTP": "That code is wrong or was used before. Wait for the next one, or enter a recovery code.",
}


@screens.get("/sign-in")
def show() -> str | Response:
    """Shows the form for signing in. If the browser is signed in already, redirects to the next screen."""
    if g.session_token and "ended" not in request.args:
        return redirect(_inside(request.args.get("next", "")))
    return render_template("sign_in.html", email="", problem="", asks_for_code=False)


@screens.post("/sign-in")
def enter() -> tuple[str, int] | Response:
    """Signs in with e-mail address and password."""
    email, password = request.form.get("email", "").strip(), request.form.get("password", "")
    code = request.form.get("code", "").strip() or None
    return signed_in(email, password, _inside(request.form.get("next", "")), code)


def signed_in(
    email: str, password: str, target: str, code: str | None = None, *, brand_id: str = ""
) -> tuple[str, int] | Response:
    """Begins a session and redirects to `target`. If the API refuses, shows the form with the reason.

    `brand_id`: somebody else's brand, on which the person works from now on.
    """
    try:
        made = api.reader().log_in(email=email, password=password, totp_code=code)
    except LimitReached as error:
        return _again(email, too_many_tries(error), 429)
    except (AuthenticationError, PermissionDenied) as error:
        if error.code == "EMAIL_NOT_VERIFIED":
            return _again(
                email, "Open the link in the mail that you got when you signed up, then sign in.", 403
            )
        if error.code in _CODE_PROBLEMS:
            return _again(email, _CODE_PROBLEMS[error.code], 401, asks_for_code=True)
        return _again(email, "The address or the password is not right.", 401)
    except ApiError as error:
        if error.status >= 500:
            raise
        return _again(email, "The address or the password is not right.", 401)
    is_https = current_app.config["DASHBOARD"].is_https
    cookies.remember_person(email)
    dates.remember(made.timezone or _taken_zone(made.session_token), made.language)
    work = joined_work(made.session_token, brand_id) if brand_id else only_shared_work(made.session_token)
    response = redirect(target)
    cookies.set_cookie(response, "session", made.session_token, is_https)
    cookies.set_cookie(response, "brand", work.packed() if work else "", is_https)
    return response


@screens.get("/sign-in/forgot")
def forgot() -> str:
    return render_template("forgot.html", is_asked=False, problem="")


@screens.post("/sign-in/forgot")
def ask_for_link() -> str | tuple[str, int]:
    """Asks for a mail with a link that sets a new password. The answer does not tell whether the address has an
    account."""
    try:
        api.reader().forgot_password(email=request.form.get("email", "").strip())
    except LimitReached as error:
        return render_template("forgot.html", is_asked=False, problem=too_many_tries(error)), 429
    except InvalidRequest as error:
        return render_template("forgot.html", is_asked=False, problem=words.said(error)), 400
    return render_template("forgot.html", is_asked=True, problem="")


@screens.post("/sign-out")
def leave() -> Response:
    """Ends the session and signs the browser out. Succeeds also if the session has ended already."""
    try:
        api.own().log_out()
    except AuthenticationError:
        current_app.logger.debug("The session had ended already.")
    response = redirect(url_for("sign_in.show", out=1))  # forms.js then forgets what was typed
    is_https = current_app.config["DASHBOARD"].is_https
    cookies.sign_out(response, is_https)
    return response


def _taken_zone(token: str) -> str:
    """Stores the browser's time zone for an account that has none, and returns it. Returns an empty text, and stores
    nothing, if the browser's zone is not known or is UTC.

    This never prevents a sign-in: if the API does not answer, the zone is stored at the next sign-in.
    """
    zone = request.form.get("browsers_zone", "")
    if zone == "UTC" or zone not in times.zones():
        return ""
    try:
        api.own(token).edit_account(timezone=zone)
    except PosthasteError as error:
        current_app.logger.warning("the browser's time zone is not stored: %s", type(error).__name__)
    return zone


def _again(email: str, problem: str, status: int, *, asks_for_code: bool = False) -> tuple[str, int]:
    return render_template("sign_in.html", email=email, problem=problem, asks_for_code=asks_for_code), status


def _inside(target: str) -> str:
    """Returns where to go after signing in: `target` if it is a path of the dashboard, else the overview."""
    is_path = target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable()
    return target if is_path else url_for("overview.show")
