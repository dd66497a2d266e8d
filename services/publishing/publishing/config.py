"""The settings of the publishing service, from its environment. The variables of a platform's API and app are read by
`settings.py` in that platform's folder."""

from collections.abc import Mapping
from typing import Any

from msgspec import field

from chassis import config
from contracts.platforms import DAY_SECONDS, PLATFORMS
from contracts.record import Record
from publishing.platforms.registry import PLUGINS, settings_from_env
from publishing.rules import return_urls
from publishing.rules.poll_times import POLLED, PUSHED, Stages, parse_stages

#: The largest PLATFORM_TIMEOUT_SECONDS: a call that outlasts the lease of its comment or reply could be made twice.
MAX_PLATFORM_TIMEOUT_SECONDS = 30.0
#: How long a call to a platform without a file may take: 5 s to connect to one address, 5 s for TLS, and the platform's
#: silence. Leases add time for further addresses and the database.
LONGEST_CALL_SECONDS = 10.0 + MAX_PLATFORM_TIMEOUT_SECONDS


class Settings(Record):
    """The settings of one process. Times in seconds, sizes in bytes. README.md has the table of variables."""

    credential_keys: tuple[str, ...]
    #: Each platform's own settings by its code; its folder reads them.
    platforms: Mapping[str, Any]
    #: Hosts whose addresses are not checked, with these addresses (local-stack.md).
    outbound_host_map: Mapping[str, str]
    #: The address for reconnecting an expired page, with `{page_id}`.
    reconnect_url: str
    #: A post found due later than this is not sent (decisions).
    publish_window_seconds: float
    #: The wait before the first look-up of an unknown outcome (5 s in the local stack), and the age of an outcome from
    #: which "not there" is believed.
    reconcile_first_seconds: float
    reconcile_settle_seconds: float
    #: A claim lapses this long after its process stopped renewing its lease: the posts of a dead process wait no
    #: longer.
    lease_seconds: float
    #: The lease for renewing a page's tokens: long enough for an outage of the database, as no client waits.
    renewal_lease_seconds: float
    #: Pages sent to at once, and posts claimed for one page at a time. A claimed post waits for those before it, so a
    #: page's batch is small.
    page_queues: int
    posts_per_queue: int
    #: Concurrent calls to platforms whose clients wait; well below MAX_WORKERS, so that other calls find a worker.
    live_calls: int
    #: The largest file behind a media URL, how long its beginning may take, and how long its server may keep us waiting
    #: while we copy the file or a platform takes it. Our choice.
    max_media_bytes: int
    media_timeout_seconds: float
    media_transfer_seconds: float
    #: The bases of our uploads' public URLs (`content.own_file`).
    own_media: tuple[str, ...]
    #: How often a post's comments are polled by its age, for each platform; and where it sends webhooks.
    polls: Mapping[str, Stages] = field(default_factory=dict)
    polls_pushed: Stages = parse_stages(PUSHED)
    #: Posts whose comments each process polls in a second, and its concurrent calls about comments.
    polls_per_second: float = 50.0
    poll_calls: int = 16
    #: The gateway's public address, to which browsers return from a login.
    public_url: str = "http://127.0.0.1:8080"
    #: The addresses to which people may be sent back after linking (`return_urls.parse`).
    return_urls: frozenset[tuple[str, str]] = frozenset()

    @property
    def hears_hooks(self) -> bool:
        """Whether the webhooks of any platform are configured."""
        return any(
            plugin.hooks.is_set_up(self.platforms[code]) for code, plugin in PLUGINS.items() if plugin.hooks
        )

    @classmethod
    def from_env(cls) -> "Settings":
        """Reads the settings from the environment. Raises ConfigError if one is missing or malformed."""
        if config.number("PLATFORM_TIMEOUT_SECONDS", 0) > MAX_PLATFORM_TIMEOUT_SECONDS:
            raise config.ConfigError(
                f"PLATFORM_TIMEOUT_SECONDS must be at most {MAX_PLATFORM_TIMEOUT_SECONDS:.0f}: the leases of calls to"
                " platforms have no room for more"
            )
        public = config.text("PUBLIC_BASE_URL", "http://127.0.0.1:8080")
        storage = config.text("MEDIA_PUBLIC_BASE_URL", "")
        return cls(
            credential_keys=config.vault_keys("CREDENTIAL_KEYS"),
            platforms=settings_from_env(),
            public_url=public.rstrip("/"),
            return_urls=return_urls.parse(config.items("CONNECT_RETURN_URLS", "")),
            outbound_host_map=config.mapping("OUTBOUND_HOST_MAP"),
            reconnect_url=config.text(
                "RECONNECT_URL", config.page_url("pages/{page_id}/reconnect", "linking")
            ),
            publish_window_seconds=config.number("PUBLISH_WINDOW_SECONDS", DAY_SECONDS),
            reconcile_first_seconds=config.number("RECONCILE_FIRST_SECONDS", 30),
            reconcile_settle_seconds=config.number("RECONCILE_SETTLE_SECONDS", 90),
            lease_seconds=config.number("LEASE_SECONDS", 20),
            renewal_lease_seconds=config.number("RENEWAL_LEASE_SECONDS", 120),
            page_queues=config.integer("PUBLISH_LANES", 48),
            posts_per_queue=config.integer("PUBLISH_POSTS_PER_LANE", 10),
            live_calls=config.integer("PUBLISH_LIVE_CALLS", 40),
            max_media_bytes=config.integer("MAX_MEDIA_BYTES", 1024 * 2**20),
            media_timeout_seconds=config.number("MEDIA_TIMEOUT_SECONDS", 20),
            media_transfer_seconds=config.number("MEDIA_TRANSFER_SECONDS", 600),
            own_media=tuple(
                f"{base.rstrip('/')}/" for base in (f"{public.rstrip('/')}/media", storage) if base
            ),
            polls={
                code: _stages(
                    f"COMMENT_POLLS_{code}", config.text("COMMENT_POLLS", PLUGINS[code].polls or POLLED)
                )
                for code, platform in PLATFORMS.items()
                if platform.comments
            },
            polls_pushed=_stages("COMMENT_POLLS_PUSHED", PUSHED),
            polls_per_second=config.number("COMMENT_POLLS_PER_SECOND", 50),
            poll_calls=config.integer("COMMENT_CALLS", 16),
        )


def _stages(name: str, default: str) -> Stages:
    """Reads a variable with polling intervals for posts of different ages (`parse_stages`). Raises ConfigError if it is
    malformed."""
    try:
        return parse_stages(config.text(name, default))
    except ValueError as error:
        raise config.ConfigError(
            f"{name} must be age=interval in seconds, comma-separated: {error}"
        ) from error
