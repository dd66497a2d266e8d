"""Google's login for YouTube (platforms.md 7)."""

from flask import Blueprint, Response, jsonify, request

from simulator.oauth import dialog, routes, tokens
from simulator.oauth.grants import Person, s256
from simulator.oauth.tokens import OAuthError, Rules
from simulator.simulation import Simulation

_SCOPES = tuple(
    f"https://www.googleapis.com/auth/{name}"
    for name in ("youtube", "youtube.upload", "youtube.readonly", "youtube.force-ssl")
)


def blueprints(sim: Simulation) -> tuple[Blueprint, Blueprint]:
    """Returns the login page and the addresses of tokens."""
    pages, logins = Blueprint("login-YT-page", __name__), routes.blueprint("YT")
    app = sim.settings.apps["YT"]
    rules = Rules("YT", 3_599, 10 * 365 * routes.DAY, False, s256)

    def is_offline(person: Person) -> bool:
        """A refresh token is issued with a consent: at the first login, or when the app asks for consent again."""
        asks = "consent" in request.args.get("prompt", "").split() or not person.grants
        return request.args.get("access_type") == "offline" and asks

    @pages.get("/o/oauth2/v2/auth")
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
        routes.check_form(app)
        return jsonify(tokens.answer(sim, rules, app[0]))

    @logins.post("/revoke")
    def google_revoke() -> Response:
        if not sim.grants.facts_of(request.form.get("token", "")):
            raise OAuthError("invalid_token", "Token expired or revoked")
        return tokens.revoke(sim, all_of_person=True)

    return pages, logins
