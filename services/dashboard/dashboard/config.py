"""The dashboard's settings. Only this module reads the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass


class ConfigError(ValueError):
    """Raised when a variable of the environment is missing or malformed."""


@dataclass(frozen=True)
class Config:
    """Settings of one dashboard process. README.md has the table of variables."""

    #: Where the API answers this process, without /api/v1.
    api_url: str
    #: The address under which browsers reach these pages; https makes the cookies Secure.
    public_url: str = "http://localhost:8000"
    #: The address of the API for people to read, without /api/v1.
    api_public_url: str = "http://localhost:8080"
    #: Where uploaded files are served, which the pages show.
    media_public_url: str = "http://localhost:8080"
    #: The operator's own pages, linked at the sign-up and below every screen. Empty: no link.
    terms_url: str = ""
    privacy_url: str = ""
    host: str = "127.0.0.1"
    port: int = 8000
    #: gunicorn: processes, and threads in each. One process holds all templates and connections once.
    workers: int = 1
    threads: int = 16
    #: Number of proxies in front whose X-Forwarded-For entries are trusted; the API's setting must be the same.
    trusted_proxy_hops: int = 0
    #: How long running requests may still take after the process was told to stop: the longest call of the API and a
    #: reserve.
    graceful_seconds: int = 140
    #: The largest body of a request: one file of the largest size that the API takes, and a reserve.
    max_body_bytes: int = 320 * 2**20
    log_level: str = "info"

    @property
    def is_https(self) -> bool:
        return self.public_url.startswith("https://")

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> "Config":
        """Reads the settings. Raises ConfigError if one is missing or malformed."""
        default = cls(api_url="")
        api_url = _url(env, "API_URL", "")
        return cls(
            api_url=api_url,
            public_url=_url(env, "DASHBOARD_URL", default.public_url),
            api_public_url=_url(env, "PUBLIC_BASE_URL", api_url),
            media_public_url=_url(env, "MEDIA_PUBLIC_BASE_URL", _url(env, "PUBLIC_BASE_URL", api_url)),
            terms_url=_url(env, "TERMS_URL", "") if env.get("TERMS_URL") else "",
            privacy_url=_url(env, "PRIVACY_URL", "") if env.get("PRIVACY_URL") else "",
            host=env.get("HOST") or default.host,
            port=_integer(env, "PORT", default.port),
            workers=_integer(env, "WORKERS", default.workers),
            threads=_integer(env, "THREADS", default.threads),
            trusted_proxy_hops=_integer(env, "TRUSTED_PROXY_HOPS", default.trusted_proxy_hops),
            graceful_seconds=_integer(env, "GRACEFUL_SECONDS", default.graceful_seconds),
            max_body_bytes=_integer(env, "MAX_BODY_BYTES", default.max_body_bytes),
            log_level=env.get("LOG_LEVEL") or default.log_level,
        )


def _url(env: Mapping[str, str], name: str, default: str) -> str:
    value = (env.get(name) or default).rstrip("/")
    if not value.startswith(("http://", "https://")):
        raise ConfigError(f"{name} must be an http(s) address, such as https://posthaste.example.com")
    return value


def _integer(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name) or str(default)
    if not text.isdecimal():
        raise ConfigError(f"{name} must be a whole number, not {text!r}")
    return int(text)
