"""The screens for signing up, and the screens that links in mails open: to confirm an address, or choose a new
password."""

from flask import Blueprint, g, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from dashboard import api, words
from dashboard.kept import forget
from dashboard.routes.shared import too_many_tries
from dashboard.routes.sign_in import signed_in
from posthaste.errors import ApiError, LimitReached

screens = Blueprint("sign_up", __name__)

#: Why the API takes no account with these fields, where its own words are for developers.
_REFUSALS = {
    "INVITE_REQUIRED": "The invite code is not right for this address. Copy it from the invitation.",
    "SIGNUPS_CLOSED": "This server takes no new accounts. Ask its operator.",
}
#: Why an address is not used.
_EMAIL_PROBLEMS = {
    "EMAIL_TAKEN": "There is another account with this address. Sign in to that one, or use another address.",
}


@screens.get("/sign-up")
def show() -> str:
    return _form()


@screens.post("/sign-up")
def create() -> str | tuple[str, int] | Response:
    """Creates an account.

    If the address has an account already, the answer is the same, and says what to do if no mail comes.
    """
    form = request.form
    email, password = form.get("email", "").strip(), form.get("password", "")
    try:
        made = api.reader().sign_up(
            email=email,
            password=password,
            firstname=form.get("firstname", "").strip(),
            lastname=form.get("lastname", "").strip(),
            invite_code=form.get("invite_code", "").strip() or None,
        )
    except LimitReached as error:
        return _form(too_many_tries(error)), 429
    except ApiError as error:
        if error.status >= 500:
            raise
        if error.code != "EMAIL_TAKEN":
            return _form(_REFUSALS.get(error.code, words.said(error))), error.status
    else:
        if made.user.verified:  # an invitation proves the address
            return signed_in(email, password, url_for("overview.show"))
    return render_template("signed_up.html", email=email)


@screens.get("/verify/<user_id>/<code>")
def confirm(user_id: str, code: str) -> tuple[str, int]:
    """Shows which e-mail address the link confirms, and the form that asks for the password first.

    Changes nothing, because mail scanners follow links.
    """
    return _confirm_form(user_id, code)


@screens.post("/verify/<user_id>/<code>")
def verify(user_id: str, code: str) -> tuple[str, int] | Response:
    """Confirms the e-mail address of a new account and signs in. The overview then names the address."""
    password = request.form.get("password", "")
    try:
        found = api.reader().verify_email(user_id=user_id, code=code, password=password)
    except LimitReached:
        return _confirm_form(
            user_id, code, "Too many passwords were tried. Open the link again tomorrow.", 429
        )
    except ApiError as error:
        if error.status >= 500:
            raise
        if error.status == 404:
            return _no_sign_up()
        return _confirm_form(
            user_id, code, "This is not the password that was chosen at sign-up.", error.status
        )
    return signed_in(found.email, password, url_for("overview.show", done="confirmed"))


@screens.get("/reset/<reset_id>/<code>")
def choose(reset_id: str, code: str) -> str:
    """Shows the form that asks for a new password. Changes nothing, because mail scanners follow links."""
    return render_template("reset.html", problem="")


@screens.post("/reset/<reset_id>/<code>")
def reset(reset_id: str, code: str) -> str | tuple[str, int] | Response:
    """Sets the new password, which ends every session, and signs in."""
    password = request.form.get("password", "")
    try:
        found = api.reader().reset_password(reset_id=reset_id, code=code, password=password)
    except ApiError as error:
        if error.status >= 500:
            raise
        if error.code == "INVALID_LINK":
            return render_template("link_ended.html", kind="reset"), error.status
        return render_template(
            "reset.html", problem="Choose a password of 8 to 256 characters."
        ), error.status
    return signed_in(found.email, password, url_for("overview.show"))


@screens.get("/email/<change_id>/<code>")
def confirm_email(change_id: str, code: str) -> str:
    """Shows the form that asks for the password before the e-mail address is changed.

    Changes nothing, because mail scanners follow links.
    """
    return render_template("email.html", problem="")


@screens.post("/email/<change_id>/<code>")
def use_email(change_id: str, code: str) -> str | tuple[str, int] | Response:
    """Changes the account's e-mail address to the address that the opened link confirms. Signs in, unless the browser
    is signed in already."""
    password = request.form.get("password", "")
    try:
        found = api.reader().confirm_email(change_id=change_id, code=code, password=password)
    except LimitReached:
        problem = "Too many passwords were tried. Ask for a new link in your account."
        return render_template("email.html", problem=problem), 429
    except ApiError as error:
        if error.status >= 500:
            raise
        if error.code == "INVALID_LINK":
            return render_template("link_ended.html", kind="email"), error.status
        return render_template(
            "email.html", problem=_EMAIL_PROBLEMS.get(error.code, "The password is not right.")
        ), error.status
    forget("account")
    target = url_for("account.show", done="confirmed")
    return redirect(target) if g.session_token else signed_in(found.email, password, target)


def _form(problem: str = "") -> str:
    return render_template("sign_up.html", problem=problem, form=request.form)


def _confirm_form(user_id: str, code: str, problem: str = "", status: int = 200) -> tuple[str, int]:
    try:
        offer = api.reader().open_verification(user_id=user_id, code=code)
    except ApiError as error:
        if error.status != 404:
            raise
        return _no_sign_up()
    page = render_template("verify.html", user_id=user_id, code=code, offer=offer, problem=problem)
    return page, status


def _no_sign_up() -> tuple[str, int]:
    return render_template("link_ended.html", kind="verify"), 404
