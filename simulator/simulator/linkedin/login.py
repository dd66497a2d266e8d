"""LinkedIn's login page and token endpoints (docs/platforms.md, section 4)."""

from collections.abc import Mapping

from flask import Blueprint, Response, jsonify, request

from simulator.accounts import Account
from simulator.config import LINKEDIN_PAGES
from simulator.oauth import dialog, routes, tokens
from simulator.oauth.tokens import Answer, Rules
from simulator.simulation import Simulation

#: Scopes of the member app (products "Share on LinkedIn" and OpenID Connect), and of the app for company pages
#: (product "Community Management", with which an app can have no other product).
_MEMBER = ("openid", "profile", "email", "w_member_social")
_COMMUNITY = (
    "r_basicprofile", "w_member_social", "rw_organization_admin", "w_organization_social", "r_organization_social",
    "w_member_social_feed", "w_organization_social_feed", "r_organization_social_feed",
)  # fmt: skip


def _unauthorized(scope: str) -> Answer:
    description = f'Scope "{scope}" is not authorized for your application'
    return {"error": "unauthorized_scope_error", "error_description": description}


def blueprint(sim: Simulation) -> Blueprint:
    """Returns the routes of LinkedIn's login for this simulator."""
    logins = routes.blueprint("LN")
    settings = sim.settings
    member, pages = settings.apps["LN"], settings.apps[LINKEDIN_PAGES]
    #: App id → its scopes.
    products = {member[0]: _MEMBER, pages[0]: _COMMUNITY}

    def app_in(form: Mapping[str, str]) -> tuple[str, str]:
        """Returns the id and the secret of our app for company pages if the request names that app, and otherwise those
        of our app for members. If the request names neither app, the login refuses it later.
        """
        return pages if form.get("client_id") == pages[0] else member

    def shape(account: Account, given: Answer) -> Answer:
        if "refresh_token" in given:
            given["refresh_token_expires_in"] = 365 * routes.DAY
        return given

    # LinkedIn separates the scopes in its answers by commas (seen in an answer that a public client stored).
    rules = Rules(
        "LN", 60 * routes.DAY - 1, 365 * routes.DAY if settings.linkedin_refresh else None, False,
        shape=shape, separator=",",
    )  # fmt: skip

    @logins.get("/oauth/v2/authorization")
    def linkedin_dialog() -> Response:
        client_id, _ = app_in(request.args)
        words = {
            "error": "user_cancelled_authorize",
            "error_description": "The user cancelled LinkedIn authorization",
        }
        # LinkedIn's guide separates the scopes by spaces, LinkedIn's own client (linkedin-api-client 0.3) by commas.
        return dialog.answer(
            sim, "LN", client_id=client_id, separator=" ,", known_scopes=products[client_id], denial=words,
            bad_scope=_unauthorized,
        )  # fmt: skip

    @logins.post("/oauth/v2/accessToken")
    def linkedin_token() -> Response:
        app = app_in(request.form)
        routes.check_form(app)
        return jsonify(tokens.answer(sim, rules, app[0]))

    @logins.post("/oauth/v2/introspectToken")
    def linkedin_introspection() -> Response:
        """Tells whether a token is valid, its scopes, and when it expires
        (learn.microsoft.com/linkedin/shared/authentication/token-introspection).
        """
        app = app_in(request.form)
        routes.check_form(app)
        token = request.form.get("token", "")
        facts = sim.accounts.facts(token)
        if not facts:
            return jsonify(active=False)
        scope = ",".join(facts.get("scopes", ()))
        active = sim.accounts.holder(token) is not None
        status = (
            "active" if active else "revoked" if sim.accounts.is_revoked(facts.get("grant")) else "expired"
        )
        return jsonify(
            active=active, status=status, scope=scope, auth_type="3L", client_id=app[0],
            expires_at=facts.get("exp"),
        )  # fmt: skip

    @logins.post("/oauth/v2/revoke")
    def linkedin_revoke() -> Response:
        routes.check_form(app_in(request.form))
        return tokens.revoke(sim)

    return logins
