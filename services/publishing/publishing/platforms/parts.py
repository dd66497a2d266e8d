"""What a platform's folder holds, for everybody who asks: its `parts.py` names it all as `PARTS`.

Found by its row of `contracts.platforms`, through `registry`: nothing else knows one platform from another.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from contracts.errors import ApiError
from publishing.platforms.base import Connector
from publishing.platforms.hooks import Hooks
from publishing.platforms.oauth.base import App, Login

#: `<name>_settings` of a post, as the client sent them.
OfPost = Mapping[str, Any]

#: How texts are counted where a platform has no count of its own, by its row's `length_unit`.
UNITS: Mapping[str, Callable[[str], int]] = {
    "characters": len,
    "UTF-16 units": lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2,
    "bytes": lambda text: len(text.encode("utf-8", "surrogatepass")),
}


class PlatformSettings(Protocol):
    """Where a platform is reached, what it is waited for, and our app there. All have defaults."""

    @property
    def app(self) -> App: ...

    @classmethod
    def from_env(cls) -> "PlatformSettings":
        """Reads the environment, by `chassis.config` and when `config.py` says so. Raises ConfigError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """One platform. Checks are pure, and tell all that they find: the first is what a real call is refused with."""

    settings: type[PlatformSettings]
    connector: Callable[[Any], Connector]
    login: Callable[[Any], Login]
    #: A message as the platform counts it; None: by the row's `length_unit` (`UNITS`).
    length: Callable[[str], int] | None = None
    #: The same of a comment or reply.
    comment_length: Callable[[str], int] = len
    #: What it would not take of a message, but for its length.
    check_text: Callable[[str, OfPost], list[ApiError]] = lambda message, settings: []
    #: What it would not take of the post's settings, which are with media or without.
    check_settings: Callable[[OfPost, bool], list[ApiError]] = lambda settings, has_media: []
    #: How often comments are asked for (`poll_times.parse_stages`); None: as everywhere.
    polls: str | None = None
    #: Where it tells of comments by itself.
    hooks: Hooks | None = None
    #: Calls that one reply takes: some ask first where the comment belongs.
    reply_calls: int = 1
    #: Whether authors of comments are told apart by their name, and not by an id.
    has_unique_names: bool = False
