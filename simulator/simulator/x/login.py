"""X's login page and token endpoints (docs/platforms.md, section 6)."""

from collections.abc import Mapping

from flask import Blueprint, Response, jsonify, request

from simulator.oauth import dialog, routes, tokens
from simulator.oauth.grants import s256
from simulator.oauth.tokens import OAuthError, Rules
from simulator.simulation import Simulation

#: X's OpenAPI 2.167 (repository xdevplatform/xdk, July 2026), `securitySchemes`.
_SCOPES = (
    "block.read", "bookmark.read", "bookmark.write", "broadcast.read", "broadcast.write", "dm.read", "dm.write",
    "follows.read", "follows.write", "like.read", "like.write", "list.read", "list.write", "media.write", "mute.read",
    "mute.write", "offline.access", "space.read", "timeline.read", "tweet.moderate.write", "tweet.read", "tweet.write",
    "users.read",
)  # fmt: skip


def blueprints(sim: Simulation) -> tuple[Blueprint, Blueprint]:
    """Returns the routes of the login page, and those of the token endpoints."""
    pages, logins = Blueprint("login-TW-page", __name__), routes.blueprint("TW")
    app = sim.settings.apps["TW"]
    bad = "Value passed for the token was invalid."
    rules = Rules(
        "TW", 7_200, 180 * routes.DAY, True, s256, bad_grant=lambda: OAuthError("invalid_request", bad)
    )

    # The second path is `authorizationUrl` in X's OpenAPI description, which X's own client (xdk) uses.
    @pages.get("/i/oauth2/authorize")
    @logins.get("/2/oauth2/authorize")
    def x_dialog() -> Response:
        return dialog.answer(
            sim,
            "TW",
            client_id=app[0],
            known_scopes=_SCOPES,
            challenge=routes.BASE64_CHALLENGE,
            # twitter-api-v2 sends the second one (Node, 1.29, January 2026), so X accepts it.
            methods=("S256", "s256"),
            is_pkce_needed=True,
            denial={"error": "access_denied"},
            code_seconds=30.0,
            is_offline=lambda person: "offline.access" in request.args.get("scope", "").split(" "),
        )

    @logins.post("/2/oauth2/token")
    def x_token() -> Response:
        routes.check_basic(app)
        return jsonify(tokens.answer(sim, rules, app[0], _fields()))

    @logins.post("/2/oauth2/revoke")
    def x_revoke() -> Response:
        routes.check_basic(app)
        tokens.revoke(sim, str(_fields().get("token", "")))
        return jsonify(revoked=True)

    return pages, logins


def _fields() -> Mapping[str, str]:
    """Returns the fields of the request's form or JSON body. The npm package twitter-api-v2 sends JSON."""
    body = request.get_json(silent=True)
    return body if isinstance(body, dict) else request.form
