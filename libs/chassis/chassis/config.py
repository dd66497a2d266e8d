"""Reads settings from environment variables, with errors that name the variable.

Call the functions only where settings are defined, such as in a service's `config.py`. The settings that several
processes share are defined in this module itself.
"""

import os
import ssl
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

from chassis.signatures import KeysMalformed, Signatures
from contracts.record import Record


class ConfigError(Exception):
    """Raised when a setting is missing or malformed. The process must not start then."""


def text(name: str, default: str | None = None) -> str:
    """Returns a setting: the value of the variable `name`, else the contents of the file whose path is in `<name>_FILE`
    (a mounted secret), else the default.

    An empty variable or file counts as unset if the other one has contents. Raises ConfigError if both have contents,
    if the file cannot be read, or if nothing is set and there is no default.
    """
    value = os.environ.get(name)
    path = os.environ.get(f"{name}_FILE")
    if path and (content := _content(f"{name}_FILE", path)):
        if value:
            raise ConfigError(f"{name} and {name}_FILE are both set: remove one of them")
        value = content
    if value is None:
        value = default
    if value is None:
        raise ConfigError(f"{name} is not set")
    return value


def _content(name: str, path: str) -> str:
    """Returns the text of the file at `path`, without the line ends that editors add at its end.

    Raises ConfigError, which names the setting `name`, if the file cannot be read.
    """
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError) as error:
        raise ConfigError(f"{name}: {error}") from None


def page_url(page: str, tag: str) -> str:
    """Returns the URL of `page` in the dashboard. If DASHBOARD_URL is not set, returns the URL of /docs/`tag` in the
    gateway's API reference instead.
    """
    dashboard = text("DASHBOARD_URL", "").rstrip("/")
    public = text("PUBLIC_BASE_URL", "http://localhost:8000").rstrip("/")
    return f"{dashboard}/{page}" if dashboard else f"{public}/docs/{tag}"


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


def items(name: str, default: str | None = "") -> tuple[str, ...]:
    """Returns the items of a variable that is a comma-separated list."""
    return tuple(item.strip() for item in text(name, default).split(",") if item.strip())


def mapping(name: str, default: str = "") -> dict[str, str]:
    """Returns the pairs of a variable that is a comma-separated list of key=value. Raises ConfigError for an item in
    another form.
    """
    pairs = [item.partition("=") for item in items(name, default)]
    if any(not equals for _, equals, _ in pairs):
        raise ConfigError(f"{name} must be key=value, comma-separated")
    return {key.strip(): value.strip() for key, _, value in pairs}


def vault_keys(name: str) -> tuple[str, ...]:
    """Returns the keys of a `Vault`, from a comma-separated variable. Raises ConfigError if there is no key or a
    malformed one.
    """
    # Imported here: only the images of services that keep secrets contain cryptography.
    from chassis.vault import Vault

    keys = items(name, None)
    try:
        Vault(keys)
    except ValueError:
        raise ConfigError(f"{name} must be one or more Fernet keys, comma-separated") from None
    return keys


class BusConfig(Record):
    """Settings of every process on the bus."""

    amqp_url: str
    log_level: str
    #: Only for the local stack and tests: allows `clock shift`. Without it a service with a shifted clock does not
    #: start.
    clock_shift_allowed: bool

    @classmethod
    def from_env(cls) -> "BusConfig":
        return cls(
            amqp_url=amqp_url(),
            log_level=text("LOG_LEVEL", "info"),
            clock_shift_allowed=flag("CLOCK_SHIFT_ALLOWED"),
        )


class ServiceConfig(Record):
    """Settings of every nameko service."""

    database_url: str
    health_port: int
    health_host: str
    #: Concurrent calls, handlers and loops (green threads).
    max_workers: int
    pool_size: int

    @classmethod
    def from_env(cls, name: str | None = None) -> "ServiceConfig":
        """Reads the settings of a service. `name` is needed in a process that runs several services."""
        return cls(
            database_url=service_database_url(name),
            health_port=integer("HEALTH_PORT", 0),
            health_host=text("HEALTH_HOST", "127.0.0.1"),
            max_workers=integer("MAX_WORKERS", 64),
            pool_size=integer("DATABASE_POOL_SIZE", 16),
        )


class RolesConfig(Record):
    """Settings of `python -m chassis.database_roles`."""

    #: Address of a role that may create roles and databases; any database of the server.
    admin_url: str
    #: Service → its address.
    database_urls: dict[str, str]
    #: Roles that keep access to every service's database, for a running release with one role for all services.
    kept_roles: tuple[str, ...]
    #: Whether the server is only for Posthaste: then services may not connect to `postgres` and `template1` either.
    server_is_dedicated: bool

    @classmethod
    def from_env(cls, services: Sequence[str]) -> "RolesConfig":
        return cls(
            admin_url=_database_address("ADMIN_DATABASE_URL", "ADMIN_DATABASE_PASSWORD"),
            database_urls={name: service_database_url(name) for name in services},
            kept_roles=items("KEPT_DATABASE_ROLES"),
            server_is_dedicated=flag("DEDICATED_DATABASE_SERVER"),
        )


def service_database_url(name: str | None = None) -> str:
    """Returns DATABASE_URL, or DATABASE_URL_<SERVICE> for a named service. Raises ConfigError if the variable is
    missing or malformed.
    """
    suffix = f"_{name.upper()}" if name else ""
    return _database_address(f"DATABASE_URL{suffix}", f"DATABASE_PASSWORD{suffix}")


def _database_address(url_name: str, password_name: str) -> str:
    url = _with_password(database_url(text(url_name)), text(password_name, ""))
    parts, query, authorities = _with_authorities(url, "DATABASE_TLS_CA", "sslrootcert")
    if authorities:
        if query.get("sslmode", "verify-full") != "verify-full":
            raise ConfigError(
                f"DATABASE_TLS_CA is set, but {url_name} has sslmode={query['sslmode']}. Remove sslmode from the"
                " address: the server's certificate and host name are always checked then"
            )
        if not parts.hostname or "host" in query:
            raise ConfigError(
                f"DATABASE_TLS_CA is set, but {url_name} names no host: a Unix socket has no TLS. Name the host"
                " before the database, or unset DATABASE_TLS_CA"
            )
        query["sslmode"] = "verify-full"
    return parts._replace(query=urlencode(query)).geturl() if authorities else url


def amqp_url() -> str:
    """Returns AMQP_URL, completed with AMQP_PASSWORD and AMQP_TLS_CA. Raises ConfigError if the URL is missing or
    malformed.
    """
    url = _with_password(text("AMQP_URL"), text("AMQP_PASSWORD", ""))
    parts, query, authorities = _with_authorities(url, "AMQP_TLS_CA", "cacertfile")
    if parts.scheme not in ("amqp", "amqps"):
        raise ConfigError("AMQP_URL must begin with amqp:// or amqps://")
    if authorities and parts.scheme != "amqps":
        raise ConfigError(
            "AMQP_TLS_CA is set, but AMQP_URL begins with amqp://, which is not encrypted. Write amqps:// and the"
            " broker's TLS port (5671), or unset AMQP_TLS_CA"
        )
    return parts._replace(query=urlencode(query)).geturl() if authorities else url


def _with_authorities(url: str, name: str, parameter: str) -> tuple[SplitResult, dict[str, str], str]:
    """Splits a connection URL, and adds a file of certificate authorities to its query parameters, as `parameter`.

    The setting `name` has the path of the file. If it is missing, nothing is added, but the URL itself may name a file.
    Returns the URL's parts, all query parameters, and the path from the setting ("" if missing).

    Raises ConfigError if the setting and the URL name different files, or if the file cannot be used. So a wrong file
    is found when the process starts, not when it connects.
    """
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    path = text(name, "")
    if path.startswith("-----BEGIN"):
        raise ConfigError(f"{name} is the path of a file, not the certificate itself")
    if path and query.get(parameter, path) != path:
        raise ConfigError(f"{name} and {parameter} in the address name different files. Remove one of them")
    if path:
        query[parameter] = path
    authorities = query.get(parameter, "")
    if authorities and authorities != "system":  # libpq's name for the system's authorities
        try:
            ssl.create_default_context(cafile=authorities)
        except ssl.SSLError:
            raise ConfigError(f"{name}: {authorities} holds no certificate in PEM format") from None
        except OSError as error:
            raise ConfigError(f"{name}: {authorities} cannot be read: {error.strerror}") from None
    return parts, query, path


def signatures(name: str) -> Signatures:
    """Returns the keys with which the process `name` signs and verifies messages.

    Raises ConfigError when a key is malformed or missing.
    """
    try:
        return Signatures.read(name, text("MESSAGE_KEYS"))
    except KeysMalformed as error:
        raise ConfigError(f"MESSAGE_KEYS: {error}") from None


def _with_password(url: str, password: str) -> str:
    """Returns the URL with the password added, if the URL has a user name but no password."""
    parts = urlsplit(url)
    if not password or not parts.username or parts.password is not None:
        return url
    user, _, place = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{user}:{quote(password, safe='')}@{place}").geturl()


class TelemetryConfig(Record):
    """Settings of traces and metrics, named as OpenTelemetry names them. Off unless an endpoint is set.

    The exporter itself reads further variables (OTEL_EXPORTER_OTLP_CERTIFICATE, _COMPRESSION …).
    """

    #: Base URL of a collector for OTLP over HTTP; "" for off.
    endpoint: str = ""
    headers: dict[str, str] = {}
    timeout_seconds: float = 5.0
    #: "" means the service's own name.
    service_name: str = ""
    resource: dict[str, str] = {}
    #: Our choice: a tenth of the traces that begin here, and all traces that a caller samples.
    sampler: str = "parentbased_traceidratio"
    sampler_ratio: float = 0.1
    metric_interval_seconds: float = 15.0

    @classmethod
    def from_env(cls) -> "TelemetryConfig":
        default = cls()
        off = flag("OTEL_SDK_DISABLED")
        return cls(
            endpoint="" if off else text("OTEL_EXPORTER_OTLP_ENDPOINT", ""),
            headers=mapping("OTEL_EXPORTER_OTLP_HEADERS"),
            timeout_seconds=number("OTEL_EXPORTER_OTLP_TIMEOUT", default.timeout_seconds),
            service_name=text("OTEL_SERVICE_NAME", ""),
            resource=mapping("OTEL_RESOURCE_ATTRIBUTES"),
            sampler=text("OTEL_TRACES_SAMPLER", default.sampler),
            sampler_ratio=number("OTEL_TRACES_SAMPLER_ARG", default.sampler_ratio),
            metric_interval_seconds=number(
                "OTEL_METRIC_EXPORT_INTERVAL", default.metric_interval_seconds * 1000
            )
            / 1000,
        )


def database_url(value: str) -> str:
    """Converts a PostgreSQL URL to SQLAlchemy's form for psycopg2. Raises ConfigError for another scheme."""
    scheme = urlsplit(value).scheme
    if scheme in ("postgres", "postgresql"):
        return "postgresql+psycopg2" + value[len(scheme) :]
    if scheme != "postgresql+psycopg2":
        raise ConfigError("the database URL must begin with postgresql://")
    return value
