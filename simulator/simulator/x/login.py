"""X's login (platforms.md 6)."""

from flask import Blueprint, Response, jsonify, request

from simulator.oauth import dialog, routes, tokens
from simulator.oauth.grants import s256
from simulator.oauth.tokens import OAuthError, Rules
from simulator.simulation import Simulation

_SCOPES = ("tweet.read", "tweet.write", "users.read", "media.write", "offline.access")


def blueprints(sim: Simulation) -> tuple[Blueprint, Blueprint]:
    """Returns the login page and the addresses of tokens."""
    pages, logins = Blueprint("login-TW-page", __name__), routes.blueprint("TW")
    app = sim.settings.apps["TW"]
    bad = "Value passed for the token was invalid."
    rules = Rules(
        "TW", 7_200, 180 * routes.DAY, True, s256, bad_grant=lambda: OAuthError("invalid_request", bad)
    )

    @pages.get("/i/oauth2/authorize")
    def x_dialog() -> Response:
        return dialog.answer(
            sim,
            "TW",
            client_id=app[0],
            known_scopes=_SCOPES,
            challenge=routes.BASE64_CHALLENGE,
            is_pkce_needed=True,
            denial={"error": "access_denied"},
            code_seconds=30.0,
            is_offline=lambda person: "offline.access" in request.args.get("scope", "").split(" "),
        )

    @logins.post("/2/oauth2/token")
    def x_token() -> Response:
        routes.check_basic(app)
        return jsonify(tokens.answer(sim, rules, app[0]))

    @logins.post("/2/oauth2/revoke")
    def x_revoke() -> Response:
        routes.check_basic(app)
        tokens.revoke(sim)
        return jsonify(revoked=True)

    return pages, logins
