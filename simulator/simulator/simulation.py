"""The state that all routes of one simulator share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from simulator.accounts import Accounts
from simulator.clock import Clock
from simulator.config import Settings
from simulator.faults import Faults
from simulator.fetching import Fetcher
from simulator.latency import Latencies
from simulator.oauth.grants import Grants
from simulator.platforms import PLATFORMS
from simulator.studio.works import Works
from simulator.world import Comment, Post, World

#: Facts that a platform may change, or that differ between apps and accounts (`POST /_sim/differences`).
DOUBTFUL = (
    "facebook_pieces", "graph_version", "instagram_quota", "linkedin_file_state", "linkedin_oldest_version",
    "linkedin_role", "tiktok_privacy_levels", "tiktok_video_seconds", "x_fields", "x_search", "youtube_long_uploads",
    "youtube_uploads_list",
)  # fmt: skip


@dataclass(slots=True)
class Simulation:
    """The state of one simulator. Two simulators in one process share nothing."""

    settings: Settings = field(default_factory=Settings)
    clock: Clock = field(default_factory=Clock)
    world: World = field(default_factory=World)
    works: Works = field(default_factory=Works)
    #: Functions that clear the state of the platforms' modules; `reset` calls them.
    on_reset: list[Callable[[], None]] = field(default_factory=list)
    #: Name in `DOUBTFUL` → the value that replaces the usual one.
    differences: dict[str, Any] = field(default_factory=dict)
    #: Functions that are called for every new comment.
    on_comment: list[Callable[[Post, Comment], None]] = field(default_factory=list)
    #: Account → the fields of its webhook subscription. A reset keeps them, like the accounts.
    subscriptions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    accounts: Accounts = field(init=False)
    #: People and their grants; a reset keeps them, like the accounts.
    grants: Grants = field(init=False)
    faults: Faults = field(init=False)
    fetcher: Fetcher = field(init=False)
    #: A reset keeps them.
    latencies: Latencies = field(init=False)

    def __post_init__(self) -> None:
        self.accounts = Accounts(self.settings.seed, lambda: self.clock.now())
        self.grants = Grants(self.accounts, self.clock)
        self.latencies = Latencies(self.settings.slow_seed)
        self.faults = Faults(self.settings.hang_seconds, self.settings.slow_seconds, self.latencies)
        self.fetcher = Fetcher(self.settings)

    def film_seconds(self, platform: str) -> float:
        """Returns how long this platform will process the next film, in seconds."""
        return self.latencies.of_film(platform) or self.settings.processing_seconds

    def told(self, fact: str, usual: Any) -> Any:
        """Returns the value of `fact`, a name in `DOUBTFUL`. It is the value that a test has set with
        `POST /_sim/differences`, or else `usual`.
        """
        assert fact in DOUBTFUL
        return self.differences.get(fact, usual)

    def reset(self) -> None:
        """Deletes faults, differences, posts, comments, payments, and the records of what the AI providers made.
        Accounts, access tokens, Stripe's customers and the clock stay.
        """
        self.faults.clear()
        self.differences.clear()
        self.world.clear()
        self.works.clear()
        for clear in self.on_reset:
            clear()

    def comment(
        self, post: Post, author_id: str, author: str, text: str, parent_id: str | None = None
    ) -> Comment:
        """Adds a comment to a post and returns it. Its id has the platform's form."""
        comment_id = self.world.new_id(PLATFORMS[post.platform].comment_prefix(post.post_id))
        comment = Comment(comment_id, post.post_id, author_id, author, text, self.clock.now(), parent_id)
        self.world.add_comment(comment)
        for tell in self.on_comment:
            tell(post, comment)
        return comment
