"""The table of simulated platforms, one row each. The routes of a platform are in a module of its own.

A row also names the environment variables with which the local stack (deploy/local) connects the publishing service to
the simulator.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


def _digits(count: int) -> str:
    return str(secrets.randbelow(9 * 10 ** (count - 1)) + 10 ** (count - 1))


@dataclass(frozen=True, slots=True)
class App:
    """Our app at a platform: the environment variables for its id and secret, and their defaults."""

    #: Variables `<variable>_ID` and `<variable>_SECRET`, of the publishing service and of the simulator.
    variable: str
    id: str
    secret: str


@dataclass(frozen=True, slots=True)
class Platform:
    """A row of the table: a simulated platform or provider, with its ids, its routes, our app there, and its settings
    in the local stack (docs/local-stack.md, "Simulator control").
    """

    code: str
    name: str
    #: How its access tokens begin.
    token_prefix: str
    #: Makes an account id in the platform's form; None for providers without accounts.
    new_account_id: Callable[[], str] | None
    #: How the id of a comment on a post begins.
    comment_prefix: Callable[[str], str] = lambda post_id: ""
    #: The module with `hosts(sim)`, which returns the routes. Several rows may have the same module.
    module: str = ""
    #: None if there is no app, or if it is in another row.
    app: App | None = None
    #: LinkedIn's second app, for company pages: an app with the product Community Management can have no other
    #: product.
    pages_app: App | None = None
    #: Environment variables of the publishing service for the platform's addresses → the host of each.
    addresses: Mapping[str, str] = field(default_factory=dict)
    #: Further environment variables in the local stack: `told` of the publishing service, `tells` of the simulator.
    told: Mapping[str, str] = field(default_factory=dict)
    tells: Mapping[str, str] = field(default_factory=dict)


PLATFORMS = {
    row.code: row
    for row in (
        # A page and its Instagram account share their last 11 digits, as linked accounts (meta/callers.py).
        Platform(
            "FB", "Facebook", "EAA", lambda: "1000" + _digits(11),
            comment_prefix=lambda post_id: post_id.rpartition("_")[2] + "_", module="simulator.meta",
            # Without a secret, `appsecret_proof` of calls is not checked.
            app=App("META_APP", "100200300400500", ""),
            addresses={
                "FACEBOOK_API_URL": "graph.facebook.com", "FACEBOOK_UPLOAD_URL": "graph-video.facebook.com",
                "FACEBOOK_AUTHORIZE_URL": "www.facebook.com",
            },
        ),
        Platform(
            "IG", "Instagram", "EAA", lambda: "178414" + _digits(11),
            comment_prefix=lambda post_id: "178", module="simulator.meta",
            addresses={"INSTAGRAM_API_URL": "graph.facebook.com"},
        ),
        Platform(
            "LN", "LinkedIn", "AQX", lambda: "urn:li:organization:" + _digits(8), lambda post_id: "7",
            module="simulator.linkedin",
            app=App("LINKEDIN_CLIENT", "local-linkedin", "local-linkedin-secret"),
            pages_app=App("LINKEDIN_PAGES_CLIENT", "local-linkedin-pages", "local-linkedin-pages-secret"),
            addresses={"LINKEDIN_API_URL": "api.linkedin.com", "LINKEDIN_OAUTH_URL": "www.linkedin.com"},
            # LinkedIn gives refresh tokens to approved apps only.
            tells={"SIMULATOR_LINKEDIN_REFRESH": "true"},
        ),
        Platform(
            "TT", "TikTok", "act.", lambda: "-000" + secrets.token_urlsafe(24),
            module="simulator.tiktok",
            app=App("TIKTOK_CLIENT", "local-tiktok", "local-tiktok-secret"),
            addresses={"TIKTOK_API_URL": "open.tiktokapis.com", "TIKTOK_AUTHORIZE_URL": "www.tiktok.com"},
            told={"TIKTOK_AUDITED": "true"}, tells={"SIMULATOR_TIKTOK_AUDITED": "true"},
        ),
        Platform(
            "TW", "X", "XAT", lambda: "1" + _digits(18), lambda post_id: "19",
            module="simulator.x", app=App("X_CLIENT", "local-x", "local-x-secret"),
            addresses={"X_API_URL": "api.x.com", "X_AUTHORIZE_URL": "x.com"},
        ),
        Platform(
            "YT", "YouTube", "ya29.", lambda: "UC" + secrets.token_urlsafe(16), lambda post_id: "Ugx",
            module="simulator.youtube",
            app=App("YOUTUBE_CLIENT", "local-youtube", "local-youtube-secret"),
            addresses={
                "YOUTUBE_API_URL": "www.googleapis.com", "YOUTUBE_UPLOAD_URL": "www.googleapis.com",
                "YOUTUBE_AUTHORIZE_URL": "accounts.google.com", "YOUTUBE_TOKEN_URL": "oauth2.googleapis.com",
            },
        ),
        Platform("gemini", "Gemini", "", None, module="simulator.gemini"),
        Platform("openai", "OpenAI", "", None, module="simulator.openai"),
        Platform("stripe", "Stripe", "", None, module="simulator.stripe"),
    )
}  # fmt: skip
