"""Google's login page and token endpoints, for YouTube (docs/platforms.md, section 7)."""

import base64

from flask import Blueprint, Response, jsonify, request

from simulator.oauth import dialog, routes, tokens
from simulator.oauth.grants import Person, s256
from simulator.oauth.tokens import OAuthError, Rules
from simulator.simulation import Simulation

#: The scopes in the discovery document (`auth.oauth2.scopes`), without those of partners.
_SCOPES = tuple(
    f"https://www.googleapis.com/auth/{name}"
    for name in ("youtube", "youtube.upload", "youtube.readonly", "youtube.force-ssl")
)


def blueprints(sim: Simulation) -> tuple[Blueprint, Blueprint]:
    """Returns the routes of the login page, and those of the token endpoints."""
    pages, logins = Blueprint("login-YT-page", __name__), routes.blueprint("YT")
    app = sim.settings.apps["YT"]
    rules = Rules("YT", 3_599, 10 * 365 * routes.DAY, False, s256)

    def is_offline(person: Person) -> bool:
        """Whether this login gives a refresh token. It does if it has `access_type=offline` and asks the person for
        consent. It asks at the person's first login, and with `prompt=consent`.
        """
        asks = "consent" in request.args.get("prompt", "").split() or not person.grants
        return request.args.get("access_type") == "offline" and asks

    # The second path is `auth_uri` in the credential files that Google's console offers.
    @pages.get("/o/oauth2/v2/auth")
    @pages.get("/o/oauth2/auth")
    def google_dialog() -> Response:
        return dialog.answer(
            sim,
            "YT",
            client_id=app[0],
            known_scopes=_SCOPES,
            challenge=routes.BASE64_CHALLENGE,
            denial={"error": "access_denied"},
            is_offline=is_offline,
        )

    @logins.post("/token")
    def google_token() -> Response:
        _check_app(app)
        return jsonify(tokens.answer(sim, rules, app[0]))

    @logins.post("/revoke")
    def google_revoke() -> Response:
        token = request.values.get("token", "")
        if not sim.grants.facts_of(token):
            raise OAuthError("invalid_token", "Token expired or revoked")
        return tokens.revoke(sim, token, all_of_person=True)

    return pages, logins


def _check_app(app: tuple[str, str]) -> None:
    """Checks the app's id and secret, which come in a Basic Authorization header or in the form. Raises OAuthError if
    they are wrong.

    RFC 6749 2.3.1 allows both ways, and Google's own clients use both.
    """
    if "Authorization" not in request.headers:
        routes.check_form(app)
        return
    expected = base64.b64encode(":".join(app).encode()).decode()
    if request.headers["Authorization"] != f"Basic {expected}":
        raise OAuthError("invalid_client", "The OAuth client was not found.", 401)
