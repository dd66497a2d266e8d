"""Reading settings from the environment, with errors that name the variable.

Each service's own `config.py` calls these and is its only reader; the settings every process shares are here.
"""

import os
from urllib.parse import urlsplit

from contracts.record import Record


class ConfigError(Exception):
    """A setting is missing or malformed; the process must not start."""


def text(name: str, default: str | None = None) -> str:
    """Raises ConfigError when the variable is unset and has no default."""
    value = os.environ.get(name, default)
    if value is None:
        raise ConfigError(f"{name} is not set")
    return value


def integer(name: str, default: int | None = None) -> int:
    value = text(name, None if default is None else str(default))
    try:
        return int(value)
    except ValueError:
        raise ConfigError(f"{name} must be a whole number, not {value!r}") from None


def number(name: str, default: float) -> float:
    value = text(name, str(default))
    try:
        return float(value)
    except ValueError:
        raise ConfigError(f"{name} must be a number, not {value!r}") from None


def flag(name: str, default: bool = False) -> bool:
    value = text(name, "true" if default else "false").lower()
    if value in ("true", "1", "yes", "on"):
        return True
    if value in ("false", "0", "no", "off", ""):
        return False
    raise ConfigError(f"{name} must be true or false, not {value!r}")


def items(name: str, default: str = "") -> tuple[str, ...]:
    """A comma-separated list."""
    return tuple(item.strip() for item in text(name, default).split(",") if item.strip())


def mapping(name: str, default: str = "") -> dict[str, str]:
    """A comma-separated list of key=value."""
    pairs = [item.partition("=") for item in items(name, default)]
    if any(not equals for _, equals, _ in pairs):
        raise ConfigError(f"{name} must be key=value, comma-separated")
    return {key.strip(): value.strip() for key, _, value in pairs}


class BusConfig(Record):
    """Settings every process shares."""

    amqp_url: str
    log_level: str
    #: Local stack and tests only: allows `clock shift`; a shifted clock refuses to start without it.
    clock_shift_allowed: bool

    @classmethod
    def from_env(cls) -> "BusConfig":
        return cls(
            amqp_url=text("AMQP_URL"),
            log_level=text("LOG_LEVEL", "info"),
            clock_shift_allowed=flag("CLOCK_SHIFT_ALLOWED"),
        )


class ServiceConfig(Record):
    """Settings every nameko service shares."""

    database_url: str
    health_port: int
    health_host: str
    #: Calls, handlers and loops at once (green threads). Our choice.
    max_workers: int
    pool_size: int

    @classmethod
    def from_env(cls) -> "ServiceConfig":
        return cls(
            database_url=database_url(text("DATABASE_URL")),
            health_port=integer("HEALTH_PORT", 0),
            health_host=text("HEALTH_HOST", "127.0.0.1"),
            max_workers=integer("MAX_WORKERS", 64),
            pool_size=integer("DATABASE_POOL_SIZE", 16),
        )


def database_url(value: str) -> str:
    """A PostgreSQL URL for SQLAlchemy with psycopg2."""
    scheme = urlsplit(value).scheme
    if scheme in ("postgres", "postgresql"):
        return "postgresql+psycopg2" + value[len(scheme) :]
    if scheme != "postgresql+psycopg2":
        raise ConfigError("the database URL must begin with postgresql://")
    return value
