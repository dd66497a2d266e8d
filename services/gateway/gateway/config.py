"""The gateway's settings. Only this module reads the environment, except HOST and PORT, which `__main__.py` reads."""

from chassis import config
from chassis.signatures import Signatures
from chassis.tokens import DEFAULT_LEGACY_PREFIX, LIVE_PREFIX, SANDBOX_PREFIX, SESSION_PREFIX
from contracts.record import Record


class Config(Record):
    """Settings of one gateway process. Times in seconds, sizes in bytes. README.md has the table of variables."""

    amqp_url: str
    database_url: str
    #: Signs the calls to services.
    signatures: Signatures = Signatures("gateway")
    #: gunicorn: processes, and connections (green threads) at once in each.
    workers: int = 2
    connections: int = 1000
    #: How long running requests may still take after the process was told to stop: longer than reading any body and the
    #: longest deadline of a route.
    graceful_seconds: int = 140
    database_pool_size: int = 8
    log_level: str = "info"
    clock_shift_allowed: bool = False
    #: decisions "IP allowlist": number of proxies in front whose X-Forwarded-For entries are trusted.
    trusted_proxy_hops: int = 0
    #: decisions "Idempotency": refuses POST, PUT, PATCH and DELETE without a key.
    idempotency_key_required: bool = False
    #: Changes are broadcast at once; this limits the effect of a broadcast that was missed.
    caller_cache_seconds: float = 10.0
    #: How long the head of a request may take to arrive, and then its body. Idle connections are closed after it.
    read_seconds: float = 15.0
    #: How many days the request log is kept; 0: there is no log.
    request_log_days: int = 30
    #: Transfers at once in each process, in and out; each holds up to a megabyte of memory.
    uploads_at_once: int = 24
    downloads_at_once: int = 64
    #: Temporary files of uploads of unknown size, in each process; times `workers` it must fit into TMPDIR.
    upload_spool_bytes: int = 384 * 2**20
    #: The services that must answer for /readyz to be 200.
    services: tuple[str, ...] = ("accounts", "quota", "publishing", "media", "ai", "webhooks")
    token_prefixes: tuple[str, ...] = (LIVE_PREFIX, SANDBOX_PREFIX, SESSION_PREFIX, DEFAULT_LEGACY_PREFIX)
    documentation_url: str = "/api/v1/openapi.json"
    #: The address under which clients and browsers reach this gateway, without a slash at its end.
    public_url: str = "http://localhost:8000"

    @property
    def is_https(self) -> bool:
        """Whether clients reach the API over HTTPS; cookies are then sent over HTTPS only."""
        return self.public_url.startswith("https://")

    @classmethod
    def from_env(cls) -> "Config":
        default = cls(amqp_url="", database_url="")
        public_url = config.text("PUBLIC_BASE_URL", default.public_url).rstrip("/")
        return cls(
            amqp_url=config.amqp_url(),
            database_url=config.service_database_url(),
            signatures=config.signatures("gateway"),
            workers=config.integer("WORKERS", default.workers),
            connections=config.integer("CONNECTIONS", default.connections),
            graceful_seconds=config.integer("GRACEFUL_SECONDS", default.graceful_seconds),
            database_pool_size=config.integer("DATABASE_POOL_SIZE", default.database_pool_size),
            log_level=config.text("LOG_LEVEL", default.log_level),
            clock_shift_allowed=config.flag("CLOCK_SHIFT_ALLOWED"),
            trusted_proxy_hops=config.integer("TRUSTED_PROXY_HOPS", default.trusted_proxy_hops),
            idempotency_key_required=config.flag("IDEMPOTENCY_KEY_REQUIRED"),
            caller_cache_seconds=config.number("CALLER_CACHE_SECONDS", default.caller_cache_seconds),
            read_seconds=config.number("READ_SECONDS", default.read_seconds),
            request_log_days=config.integer("REQUEST_LOG_DAYS", default.request_log_days),
            uploads_at_once=config.integer("UPLOADS_AT_ONCE", default.uploads_at_once),
            upload_spool_bytes=config.integer("UPLOAD_SPOOL_BYTES", default.upload_spool_bytes),
            downloads_at_once=config.integer("DOWNLOADS_AT_ONCE", default.downloads_at_once),
            services=config.items("SERVICES", ",".join(default.services)),
            token_prefixes=(
                LIVE_PREFIX,
                SANDBOX_PREFIX,
                SESSION_PREFIX,
                config.text("LEGACY_TOKEN_PREFIX", DEFAULT_LEGACY_PREFIX),
            ),
            public_url=public_url,
            documentation_url=config.text("DOCUMENTATION_URL", f"{public_url}/api/v1/openapi.json"),
        )
