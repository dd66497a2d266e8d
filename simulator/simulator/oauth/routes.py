"""Functions that the logins of LinkedIn, TikTok, X and Google share: they format errors and check the app's
credentials.
"""

import base64
import re
from collections.abc import Callable

from flask import Blueprint, Response, jsonify, request

from simulator.oauth.tokens import OAuthError

#: The form of a PKCE challenge with the method S256 (RFC 7636).
BASE64_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
DAY = 86_400


def blueprint(platform: str, refused: Callable[[OAuthError], Response] | None = None) -> Blueprint:
    """Returns an empty blueprint for a platform's login. `refused` formats its errors, by default as RFC 6749 does."""
    logins = Blueprint(f"login-{platform}", __name__)
    logins.register_error_handler(OAuthError, refused or answer)
    return logins


def answer(problem: OAuthError) -> Response:
    response = jsonify(problem.body)
    response.status_code = problem.status
    return response


def check_form(app: tuple[str, str], id_field: str = "client_id") -> None:
    if (request.form.get(id_field), request.form.get("client_secret")) != app:
        raise OAuthError("invalid_client", "Client authentication failed", 401)


def check_basic(app: tuple[str, str]) -> None:
    expected = base64.b64encode(":".join(app).encode()).decode()
    if request.headers.get("Authorization") != f"Basic {expected}":
        raise OAuthError("unauthorized_client", "Missing valid authorization header", 401)
