"""Addresses of the logins of LinkedIn, TikTok, X and Google (platforms.md 4 to 7). Meta's are in `meta`."""

import base64
import re

from flask import Blueprint, Response, jsonify, request

from simulator.accounts import Account
from simulator.oauth import dialog, tokens
from simulator.oauth.grants import Person, s256, s256_hex
from simulator.oauth.tokens import Answer, OAuthError, Rules
from simulator.simulation import Simulation

_MEMBER = ("openid", "profile", "email", "w_member_social")
_PAGES = ("rw_organization_admin", "w_organization_social", "r_organization_social")
_TIKTOK = (
    "user.info.basic", "user.info.profile", "user.info.stats", "video.list", "video.publish", "video.upload",
)  # fmt: skip
_X = ("tweet.read", "tweet.write", "users.read", "media.write", "offline.access")
_GOOGLE = tuple(
    f"https://www.googleapis.com/auth/{name}"
    for name in ("youtube", "youtube.upload", "youtube.readonly", "youtube.force-ssl")
)
_BASE64_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_HEX_CHALLENGE = re.compile(r"[0-9a-f]{64}")
_DAY = 86_400


def blueprint(sim: Simulation) -> Blueprint:
    """Routes of one simulator."""
    logins = Blueprint("logins", __name__)

    @logins.errorhandler(OAuthError)
    def refused(problem: OAuthError) -> Response:
        response = jsonify(problem.body)
        # TikTok tells errors with HTTP 200, unless something stands before it.
        is_tiktok = request.path.startswith("/v2/oauth/") and problem.status in (400, 401)
        response.status_code = 200 if is_tiktok else problem.status
        if is_tiktok:
            response = jsonify(problem.body | {"log_id": "2026112000"})
        return response

    _add_linkedin(logins, sim)
    _add_tiktok(logins, sim)
    _add_x(logins, sim)
    _add_google(logins, sim)
    return logins


def _add_linkedin(logins: Blueprint, sim: Simulation) -> None:
    settings = sim.settings
    client_id, _ = settings.linkedin_app

    def shape(account: Account, given: Answer) -> Answer:
        if "refresh_token" in given:
            given["refresh_token_expires_in"] = 365 * _DAY
        return given

    rules = Rules("LN", 60 * _DAY - 1, 365 * _DAY if settings.linkedin_refresh else None, False, shape=shape)

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
        _check_form(settings.linkedin_app)
        return jsonify(tokens.answer(sim, rules, client_id))

    @logins.post("/oauth/v2/revoke")
    def linkedin_revoke() -> Response:
        _check_form(settings.linkedin_app)
        return tokens.revoke(sim)


def _add_tiktok(logins: Blueprint, sim: Simulation) -> None:
    app = sim.settings.tiktok_app

    def shape(account: Account, given: Answer) -> Answer:
        return given | {
            "open_id": account.account_id,
            "refresh_expires_in": 180 * _DAY,
            "token_type": "Bearer",
        }

    rules = Rules("TT", 7_200, 180 * _DAY, True, s256_hex, shape, separator=",")

    @logins.get("/v2/auth/authorize/")
    def tiktok_dialog() -> Response:
        return dialog.answer(
            sim,
            "TT",
            client_id=app[0],
            separator=",",
            id_field="client_key",
            known_scopes=_TIKTOK,
            challenge=_HEX_CHALLENGE,
            is_pkce_needed=True,
        )

    @logins.post("/v2/oauth/token/")
    def tiktok_token() -> Response:
        _check_form(app, "client_key")
        return jsonify(tokens.answer(sim, rules, app[0]))

    @logins.post("/v2/oauth/revoke/")
    def tiktok_revoke() -> Response:
        _check_form(app, "client_key")
        return tokens.revoke(sim)


def _add_x(logins: Blueprint, sim: Simulation) -> None:
    app = sim.settings.x_app
    bad = "Value passed for the token was invalid."
    rules = Rules("TW", 7_200, 180 * _DAY, True, s256, bad_grant=lambda: OAuthError("invalid_request", bad))

    @logins.get("/i/oauth2/authorize")
    def x_dialog() -> Response:
        return dialog.answer(
            sim,
            "TW",
            client_id=app[0],
            known_scopes=_X,
            challenge=_BASE64_CHALLENGE,
            is_pkce_needed=True,
            denial={"error": "access_denied"},
            code_seconds=30.0,
            is_offline=lambda person: "offline.access" in request.args.get("scope", "").split(" "),
        )

    @logins.post("/2/oauth2/token")
    def x_token() -> Response:
        _check_basic(app)
        return jsonify(tokens.answer(sim, rules, app[0]))

    @logins.post("/2/oauth2/revoke")
    def x_revoke() -> Response:
        _check_basic(app)
        tokens.revoke(sim)
        return jsonify(revoked=True)


def _add_google(logins: Blueprint, sim: Simulation) -> None:
    app = sim.settings.youtube_app
    rules = Rules("YT", 3_599, 10 * 365 * _DAY, False, s256)

    def is_offline(person: Person) -> bool:
        """A refresh token comes with a consent that was asked for: at the first login, or again on demand."""
        asks = request.args.get("prompt") == "consent" or not person.grants
        return request.args.get("access_type") == "offline" and asks

    @logins.get("/o/oauth2/v2/auth")
    def google_dialog() -> Response:
        return dialog.answer(
            sim,
            "YT",
            client_id=app[0],
            known_scopes=_GOOGLE,
            challenge=_BASE64_CHALLENGE,
            denial={"error": "access_denied"},
            is_offline=is_offline,
        )

    @logins.post("/token")
    def google_token() -> Response:
        _check_form(app)
        return jsonify(tokens.answer(sim, rules, app[0]))

    @logins.post("/revoke")
    def google_revoke() -> Response:
        if not sim.grants.facts_of(request.form.get("token", "")):
            raise OAuthError("invalid_token", "Token expired or revoked")
        return tokens.revoke(sim, all_of_person=True)


def _check_form(app: tuple[str, str], id_field: str = "client_id") -> None:
    if (request.form.get(id_field), request.form.get("client_secret")) != app:
        raise OAuthError("invalid_client", "Client authentication failed", 401)


def _check_basic(app: tuple[str, str]) -> None:
    expected = base64.b64encode(":".join(app).encode()).decode()
    if request.headers.get("Authorization") != f"Basic {expected}":
        raise OAuthError("unauthorized_client", "Missing valid authorization header", 401)
