"""TikTok's login page and token endpoints (docs/platforms.md, section 5).

Our app may omit PKCE, because it is a web app: "code_verifier … Required for mobile and desktop app only"
(developers.tiktok.com/doc/oauth-user-access-token-management, read in November 2026).
"""

import re

from flask import Blueprint, Response, jsonify, request

from simulator.accounts import Account
from simulator.oauth import dialog, routes, tokens
from simulator.oauth.grants import s256_hex
from simulator.oauth.tokens import Answer, OAuthError, Rules
from simulator.simulation import Simulation

_SCOPES = (
    "user.info.basic", "user.info.profile", "user.info.stats", "video.list", "video.publish", "video.upload",
)  # fmt: skip
_HEX_CHALLENGE = re.compile(r"[0-9a-f]{64}")


def blueprints(sim: Simulation) -> tuple[Blueprint, Blueprint]:
    """Returns the routes of the login page, and those of the token endpoints."""
    pages, logins = Blueprint("login-TT-page", __name__), routes.blueprint("TT", _refused)
    app = sim.settings.apps["TT"]

    def shape(account: Account, given: Answer) -> Answer:
        return given | {
            "open_id": account.account_id,
            "refresh_expires_in": 180 * routes.DAY,
            "token_type": "Bearer",
        }

    rules = Rules("TT", 7_200, 180 * routes.DAY, True, s256_hex, shape, separator=",")

    @pages.get("/v2/auth/authorize/")
    def tiktok_dialog() -> Response:
        return dialog.answer(
            sim,
            "TT",
            client_id=app[0],
            separator=",",
            id_field="client_key",
            known_scopes=_SCOPES,
            challenge=_HEX_CHALLENGE,
        )

    @logins.post("/v2/oauth/token/")
    def tiktok_token() -> Response:
        routes.check_form(app, "client_key")
        return jsonify(tokens.answer(sim, rules, app[0]))

    @logins.post("/v2/oauth/revoke/")
    def tiktok_revoke() -> Response:
        routes.check_form(app, "client_key")
        return tokens.revoke(sim)

    return pages, logins


def _refused(problem: OAuthError) -> Response:
    """Returns the response for an error. TikTok's token endpoints send errors of status 400 or 401 as HTTP 200."""
    if request.path.startswith("/v2/oauth/") and problem.status in (400, 401):
        return jsonify(problem.body | {"log_id": "2026112000"})
    return routes.answer(problem)
