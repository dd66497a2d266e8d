"""LinkedIn's login (platforms.md 4)."""

from flask import Blueprint, Response, jsonify

from simulator.accounts import Account
from simulator.oauth import dialog, routes, tokens
from simulator.oauth.tokens import Answer, Rules
from simulator.simulation import Simulation

_MEMBER = ("openid", "profile", "email", "w_member_social")
_PAGES = ("rw_organization_admin", "w_organization_social", "r_organization_social")


def blueprint(sim: Simulation) -> Blueprint:
    """Routes of one simulator."""
    logins = routes.blueprint("LN")
    settings = sim.settings
    client_id, _ = settings.apps["LN"]

    def shape(account: Account, given: Answer) -> Answer:
        if "refresh_token" in given:
            given["refresh_token_expires_in"] = 365 * routes.DAY
        return given

    rules = Rules(
        "LN", 60 * routes.DAY - 1, 365 * routes.DAY if settings.linkedin_refresh else None, False, shape=shape
    )

    @logins.get("/oauth/v2/authorization")
    def linkedin_dialog() -> Response:
        known = _MEMBER + (_PAGES if settings.linkedin_pages else ())
        words = {
            "error": "user_cancelled_authorize",
            "error_description": "The user cancelled LinkedIn authorization",
        }
        return dialog.answer(sim, "LN", client_id=client_id, known_scopes=known, denial=words)

    @logins.post("/oauth/v2/accessToken")
    def linkedin_token() -> Response:
        routes.check_form(settings.apps["LN"])
        return jsonify(tokens.answer(sim, rules, client_id))

    @logins.post("/oauth/v2/revoke")
    def linkedin_revoke() -> Response:
        routes.check_form(settings.apps["LN"])
        return tokens.revoke(sim)

    return logins
