"""The screen that the link of an invitation opens: it names the brand, accepts the invitation and signs in."""

from flask import Blueprint, render_template, request, url_for
from werkzeug.wrappers import Response

from dashboard import api, words
from dashboard.routes.sign_in import signed_in
from posthaste.errors import ApiError, LimitReached

screens = Blueprint("invitations", __name__, url_prefix="/invitations")

Answer = tuple[str, int] | Response

_TOO_MANY = "Too many passwords were tried. Open the link again tomorrow."
#: Why the API does not accept, where its own words are for developers.
_REFUSALS = {
    "INVALID_CREDENTIALS": "This is not the password of the account with this address.",
    "VALIDATION_ERROR": "Enter a password of 8 to 256 characters.",
    "SIGNUPS_CLOSED": "This server takes no new accounts. Ask its operator for one with this address, then open the "
    "link again.",
    "TOTP_REQUIRED": "Enter your password again, with the code that your authenticator app shows.",
    "INVALID_TOTP": "That code is wrong or was used before. Wait for the next one, or enter a recovery code.",
}


@screens.get("/<invitation_id>/<code>")
def show(invitation_id: str, code: str) -> Answer:
    """Shows who invites the person to which brand, and the form that accepts the invitation.

    Changes nothing, because mail scanners follow links.
    """
    return _shown(invitation_id, code)


@screens.post("/<invitation_id>/<code>")
def accept(invitation_id: str, code: str) -> Answer:
    """Accepts the invitation, signs in to the account with the invited address, and begins the work on the brand.

    A person who has entered a code of an authenticator app is not signed in, because each code works once. The answer
    asks them to sign in with the next code.
    """
    form = request.form
    password, totp_code = form.get("password", ""), form.get("code", "").strip() or None
    try:
        accepted = api.reader().accept_invitation(
            invitation_id=invitation_id,
            code=code,
            password=password,
            firstname=form.get("firstname", "").strip(),
            lastname=form.get("lastname", "").strip(),
            totp_code=totp_code,
        )
    except LimitReached:
        return _shown(invitation_id, code, _TOO_MANY, 429)
    except ApiError as error:
        if error.status >= 500:
            raise
        if error.code == "INVALID_LINK":
            return _ended()
        return _shown(invitation_id, code, _REFUSALS.get(error.code, words.said(error)), error.status)
    if totp_code:
        return render_template("invitation_accepted.html", accepted=accepted), 200
    return signed_in(accepted.email, password, url_for("overview.show"), brand_id=accepted.brand_id)


def _shown(invitation_id: str, code: str, problem: str = "", status: int = 200) -> Answer:
    try:
        offer = api.reader().open_invitation(invitation_id=invitation_id, code=code)
    except ApiError as error:
        if error.status != 400:
            raise
        return _ended()
    return render_template("invitation.html", offer=offer, problem=problem, form=request.form), status


def _ended() -> Answer:
    return render_template("link_ended.html", kind="invitation"), 400
