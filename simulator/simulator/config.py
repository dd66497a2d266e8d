"""The settings of the simulator. Only this module reads the environment."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.platforms import PLATFORMS

#: Key in `Settings.apps` of LinkedIn's second app, which is for company pages.
LINKEDIN_PAGES = "LN pages"
_APPS = {code: row.app for code, row in PLATFORMS.items() if row.app} | {
    f"{code} pages": row.pages_app for code, row in PLATFORMS.items() if row.pages_app
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a simulator. Times are in seconds, sizes in bytes."""

    #: Signs all access tokens. A simulator with the same seed accepts the tokens of an earlier run.
    seed: str = "posthaste-local"
    #: Platform code or `LINKEDIN_PAGES` → id and secret of our app.
    apps: Mapping[str, tuple[str, str]] = field(
        default_factory=lambda: {code: (app.id, app.secret) for code, app in _APPS.items()}
    )
    #: Whether the LinkedIn apps get refresh tokens, as approved apps do.
    linkedin_refresh: bool = False
    #: URL of Meta's webhooks, to which `/facebook` or `/instagram` is added (control API: POST /_sim/meta/webhook);
    #: the token that Meta sends there to verify the URL; and of how many batches one is sent twice (0: none).
    meta_webhook_url: str = ""
    meta_verify_token: str = ""
    hook_duplicates: int = 3
    #: host -> "address:port" for media URLs fetched from hosts that DNS does not know.
    host_map: Mapping[str, str] = field(default_factory=dict)
    #: How long the platforms process a container or video (local-stack.md, "Waiting times": 3 s at most).
    processing_seconds: float = 0.5
    #: How long Veo takes to make a film (the same section).
    film_seconds: float = 1.5
    #: The only API keys that are accepted. The local stack uses the same.
    gemini_key: str = "local-gemini-key"
    openai_key: str = "local-openai-key"
    stripe_key: str = "local-stripe-key"
    #: URL of Stripe's webhooks (control API: POST /_sim/stripe/webhook), and the secret that signs them.
    stripe_webhook_url: str = ""
    stripe_webhook_secret: str = "local-webhook-secret"  # noqa: S105 - valid in a simulator only
    #: Posts that an Instagram account may publish in 24 hours (platforms.md 3 has 50 and 100; this is the stricter).
    instagram_quota: int = 50
    #: Whether TikTok has audited the app: otherwise posts can only be private. The number of posts that an account may
    #: begin in a minute, and may have in a day; its longest video in seconds; the hosts of ours that TikTok has
    #: verified, empty: any host.
    tiktok_audited: bool = False
    tiktok_inits: int = 6
    tiktok_posts: int = 15
    tiktok_video_seconds: int = 600
    tiktok_verified_hosts: tuple[str, ...] = ()
    #: Uploads of a YouTube channel in a day, and its quota units for all other calls (platforms.md 7).
    youtube_uploads: int = 100
    youtube_units: int = 10_000
    #: How long a `hang` fault keeps a connection open without an answer.
    hang_seconds: float = 120.0
    #: How long a `slow` fault delays an answer.
    slow_seconds: float = 2.0
    #: Seed of realistic latencies of the social platforms (`latency.py`); empty: no latency.
    slow_seed: str = ""
    #: Timeout for fetching one media URL.
    fetch_seconds: float = 10.0

    @property
    def meta_app_id(self) -> str:
        return self.apps["FB"][0]

    @property
    def meta_app_secret(self) -> str:
        """The app secret with which `appsecret_proof` is checked. Empty: it is not checked."""
        return self.apps["FB"][1]


def parse_host_map(text: str) -> dict[str, str]:
    """Parses `OUTBOUND_HOST_MAP`, a JSON object or `host=address:port` pairs separated by commas. Returns host →
    address:port.
    """
    if text.lstrip().startswith("{"):
        return {str(host).lower(): str(target) for host, target in json.loads(text).items()}
    pairs = (pair.split("=", 1) for pair in text.split(",") if "=" in pair)
    return {host.strip().lower(): target.strip() for host, target in pairs}


def from_environment(environ: Mapping[str, str] = os.environ) -> Settings:
    """Reads the settings from environment variables, which README.md lists."""
    default = Settings()
    return Settings(
        seed=environ.get("SIMULATOR_SEED", default.seed),
        apps={
            code: (
                environ.get(f"{app.variable}_ID", app.id),
                environ.get(f"{app.variable}_SECRET", app.secret),
            )
            for code, app in _APPS.items()
        },
        linkedin_refresh=environ.get("SIMULATOR_LINKEDIN_REFRESH", "").lower() == "true",
        meta_webhook_url=environ.get("META_WEBHOOK_URL", default.meta_webhook_url),
        meta_verify_token=environ.get("META_VERIFY_TOKEN", default.meta_verify_token),
        hook_duplicates=int(environ.get("SIMULATOR_HOOK_DUPLICATES", default.hook_duplicates)),
        host_map=parse_host_map(environ.get("OUTBOUND_HOST_MAP", "")),
        slow_seed=environ.get("SIMULATOR_SLOW", default.slow_seed),
        processing_seconds=float(environ.get("SIMULATOR_PROCESSING_SECONDS", default.processing_seconds)),
        film_seconds=float(environ.get("SIMULATOR_FILM_SECONDS", default.film_seconds)),
        gemini_key=environ.get("GEMINI_API_KEY") or default.gemini_key,
        openai_key=environ.get("OPENAI_API_KEY") or default.openai_key,
        stripe_key=environ.get("STRIPE_SECRET_KEY") or default.stripe_key,
        stripe_webhook_url=environ.get("STRIPE_WEBHOOK_URL", default.stripe_webhook_url),
        stripe_webhook_secret=environ.get("STRIPE_WEBHOOK_SECRET") or default.stripe_webhook_secret,
        instagram_quota=int(environ.get("SIMULATOR_INSTAGRAM_QUOTA", default.instagram_quota)),
        tiktok_audited=environ.get("SIMULATOR_TIKTOK_AUDITED", "").lower() == "true",
        tiktok_inits=int(environ.get("SIMULATOR_TIKTOK_INITS", default.tiktok_inits)),
        tiktok_posts=int(environ.get("SIMULATOR_TIKTOK_POSTS", default.tiktok_posts)),
        youtube_uploads=int(environ.get("SIMULATOR_YOUTUBE_UPLOADS", default.youtube_uploads)),
        youtube_units=int(environ.get("SIMULATOR_YOUTUBE_UNITS", default.youtube_units)),
    )
