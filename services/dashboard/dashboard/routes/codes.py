"""The screen on which a person turns the second factor on or off: codes of an authenticator app, set up with a QR code.
It always concerns the person's own account."""

import re

import segno
from flask import Blueprint, redirect, render_template, request, url_for
from markupsafe import Markup
from werkzeug.wrappers import Response

from dashboard import api, words
from dashboard.kept import forget
from dashboard.routes.account import CODES
from posthaste.errors import ApiError

screens = Blueprint("codes", __name__, url_prefix="/account/codes")

#: An address as the API makes it: nothing else is drawn or shown as a link.
_ADDRESS = re.compile(r"otpauth://totp/[!-~]{1,500}[?&]secret=([A-Z2-7]{16,64})[!-~]{0,200}")
_WRONG_CODE = "That code is not right. Look at the app once more: it shows another code every 30 seconds."

Answer = str | tuple[str, int] | Response


@screens.get("")
def show() -> str:
    return _shown()


@screens.post("/begin")
def begin() -> Answer:
    """Shows the secret for the authenticator app. Signing in stays as it is until a code of the app is confirmed."""
    try:
        made = api.own().begin_totp(password=request.form.get("password", ""), idempotency_key=_key())
    except ApiError as error:
        return _refused(error, "password", "The password is not right.")
    return _begun(made.otpauth_url)


@screens.post("/confirm")
def confirm() -> Answer:
    """Turns the codes on with the app's first code, and shows the recovery codes. They are shown only this once."""
    address = request.form.get("address", "")
    try:
        made = api.own().confirm_totp(totp_code=_code(), idempotency_key=_key())
    except ApiError as error:
        if not _ADDRESS.fullmatch(address) or error.code != "VALIDATION_ERROR":
            return _refused(error, "totp_code", _WRONG_CODE)
        return _begun(address, _WRONG_CODE), error.status
    forget(CODES)
    return render_template("codes_recovery.html", codes=made.recovery_codes)


@screens.post("/off")
def off() -> Answer:
    """Turns the second factor off: signing in needs only the password again."""
    try:
        api.own().disable_totp(
            password=request.form.get("password", ""), totp_code=_code(), idempotency_key=_key()
        )
    except ApiError as error:
        return _refused(error, "totp_code", "The code is not right. A recovery code works once.")
    forget(CODES)
    return redirect(url_for("codes.show", done="off"))


def _begun(address: str, problem: str = "") -> str:
    found = _ADDRESS.fullmatch(address)
    secret = found[1] if found else ""
    drawn = segno.make(address, micro=False).svg_inline(
        border=4, omitsize=True, svgclass=None, lineclass=None, dark="#000", light="#fff"
    )
    groups = " ".join(secret[at : at + 4] for at in range(0, len(secret), 4))
    # The picture is ours: the address is only its content.
    return render_template(
        "codes_begun.html", address=address, secret=groups, picture=Markup(drawn), problem=problem
    )


def _refused(error: ApiError, field: str, told: str) -> Answer:
    """Shows the screen again with the reason why the API refused a change: `told` if it refused the field `field`, else
    the API's own reason. Other errors are raised again.
    """
    if error.status == 401 or error.status >= 500:
        raise error
    named = [it.field for it in error.fields]
    if "password" in named:
        told = "The password is not right."
    elif field not in named:
        told = words.said(error)
    return _shown(told), error.status


def _shown(problem: str = "") -> str:
    return render_template(
        "codes.html", state=api.own().get_totp(), problem=problem, done=request.args.get("done", "")
    )


def _code() -> str:
    return request.form.get("code", "").strip()


def _key() -> str | None:
    return request.form.get("key") or None
