"""The service's settings: the only reader of its environment, the platforms' variables included."""

from collections.abc import Mapping
from typing import Any

from msgspec import field

from chassis import config
from contracts.platforms import DAY_SECONDS, PLATFORMS
from contracts.record import Record
from publishing.platforms.registry import PLUGINS, settings_from_env
from publishing.rules import return_urls
from publishing.rules.poll_times import POLLED, PUSHED, Stages, parse_stages

#: Longest PLATFORM_TIMEOUT_SECONDS: a call that outlasts the lease of its comment or reply could be made a second time.
MAX_PLATFORM_TIMEOUT_SECONDS = 30.0
#: How long a call to a platform may take that carries no file: 5 s to connect to one address, 5 s for TLS, and the
#: platform's silence. Leases have room for further addresses and the database besides.
LONGEST_CALL_SECONDS = 10.0 + MAX_PLATFORM_TIMEOUT_SECONDS


class Settings(Record):
    """Times in seconds, sizes in bytes. README.md has the table of variables."""

    credential_keys: tuple[str, ...]
    #: By code, each platform's own: its folder reads them.
    platforms: Mapping[str, Any]
    #: Hosts this deployment routes itself, past the address check (local-stack.md).
    outbound_host_map: Mapping[str, str]
    #: Where a client reconnects an expired page; `{page_id}` is filled in.
    reconnect_url: str
    #: A post found due later than this is not sent (decisions).
    publish_window_seconds: float
    #: First look at an unknown outcome (local-stack.md: 5 in the local stack), and when "not there" is believed.
    reconcile_first_seconds: float
    reconcile_settle_seconds: float
    #: A claim lapses this long after its process stopped renewing it. Our choice.
    lease_seconds: float
    #: The same for the renewal of a page's tokens; nobody waits for it, and it outlasts an outage of the database.
    renewal_lease_seconds: float
    #: Pages sent to at once, and posts claimed for one of them at a time. Our choice.
    lanes: int
    posts_per_lane: int
    #: Calls to platforms with a client waiting, at once; well below MAX_WORKERS. Our choice.
    live_calls: int
    #: Largest file a media URL may lead to, how long its beginning may take, and how long its server may keep us
    #: waiting in all while a platform takes it. Our choice.
    max_media_bytes: int
    media_timeout_seconds: float
    media_transfer_seconds: float
    #: What the public URLs of our own uploads begin with (`content.own_file`).
    own_media: tuple[str, ...]
    #: How often a post's comments are asked for, by its age, for each platform; and where that tells us by itself.
    polls: Mapping[str, Stages] = field(default_factory=dict)
    polls_pushed: Stages = parse_stages(PUSHED)
    #: Posts that each process asks for in a second, and calls for comments at once. Our choice.
    polls_per_second: float = 50.0
    poll_calls: int = 16
    #: Where browsers come back to from a login: the gateway's public address.
    public_url: str = "http://127.0.0.1:8080"
    #: Where people may be brought back to after a linking (`return_urls.parse`).
    return_urls: frozenset[tuple[str, str]] = frozenset()

    @property
    def hears_hooks(self) -> bool:
        """Whether platforms can tell us of comments by themselves."""
        return any(
            plugin.hooks.is_set_up(self.platforms[code]) for code, plugin in PLUGINS.items() if plugin.hooks
        )

    @classmethod
    def from_env(cls) -> "Settings":
        """Raises ConfigError."""
        if config.number("PLATFORM_TIMEOUT_SECONDS", 0) > MAX_PLATFORM_TIMEOUT_SECONDS:
            raise config.ConfigError(
                f"PLATFORM_TIMEOUT_SECONDS must be at most {MAX_PLATFORM_TIMEOUT_SECONDS:.0f}: the leases of calls to"
                " platforms have no room for more"
            )
        public = config.text("PUBLIC_BASE_URL", "http://127.0.0.1:8080")
        storage = config.text("MEDIA_PUBLIC_BASE_URL", "")
        return cls(
            credential_keys=config.items("CREDENTIAL_KEYS", None),
            platforms=settings_from_env(),
            public_url=public.rstrip("/"),
            return_urls=return_urls.parse(config.items("CONNECT_RETURN_URLS", "")),
            outbound_host_map=config.mapping("OUTBOUND_HOST_MAP"),
            reconnect_url=config.text("RECONNECT_URL", f"{public}/pages/{{page_id}}/reconnect"),
            publish_window_seconds=config.number("PUBLISH_WINDOW_SECONDS", DAY_SECONDS),
            reconcile_first_seconds=config.number("RECONCILE_FIRST_SECONDS", 30),
            reconcile_settle_seconds=config.number("RECONCILE_SETTLE_SECONDS", 90),
            lease_seconds=config.number("LEASE_SECONDS", 20),
            renewal_lease_seconds=config.number("RENEWAL_LEASE_SECONDS", 120),
            lanes=config.integer("PUBLISH_LANES", 48),
            posts_per_lane=config.integer("PUBLISH_POSTS_PER_LANE", 10),
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
    """Raises ConfigError."""
    try:
        return parse_stages(config.text(name, default))
    except ValueError as error:
        raise config.ConfigError(f"{name} must be age=wait in seconds, comma-separated: {error}") from error
