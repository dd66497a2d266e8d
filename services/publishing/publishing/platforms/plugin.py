"""The interface of a platform's folder: its `plugin.py` assigns a `PlatformPlugin` to `PLUGIN`. Also has functions that
read a post's settings.

`registry` finds the folder by the platform's row in `contracts.platforms`. Code outside of the folders does not depend
on a particular platform.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import msgspec

from chassis.http.addresses import UnsafeAddress, check_url
from contracts.errors import ApiError, invalid
from contracts.record import Record
from publishing.platforms.base import Account, Connector
from publishing.platforms.facts import Fact
from publishing.platforms.hooks import Hooks
from publishing.platforms.oauth.base import App, Login
from publishing.platforms.trial import Trial

R = TypeVar("R", bound=Record)

#: `<name>_settings` of a post, as the client sent them.
PostSettings = Mapping[str, Any]

#: How a text's length is counted, by the row's `length_unit`, for platforms without a count of their own.
UNITS: Mapping[str, Callable[[str], int]] = {
    "characters": len,
    "UTF-16 units": lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2,
    "bytes": lambda text: len(text.encode("utf-8", "surrogatepass")),
}


class PlatformSettings(Protocol):
    """Addresses, timeouts and our app of one platform. Every setting has a default."""

    @property
    def app(self) -> App: ...

    @classmethod
    def from_env(cls) -> "PlatformSettings":
        """Reads the platform's settings from the environment, for `config.py`. Raises ConfigError if one
        is malformed.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformPlugin:
    """What the folder of one platform provides: its settings, connector, login, checks and limits.

    The checks are pure, and return every problem that they find. A request is refused with the first problem.
    """

    settings: type[PlatformSettings]
    connector: Callable[[Any], Connector]
    login: Callable[[Any], Login]
    #: Counts a message as the platform does; None: by the row's `length_unit` (`UNITS`).
    length: Callable[[str], int] | None = None
    #: Returns the longest message, in the platform's unit, where the post's settings change it; None: the row's.
    message_limit: Callable[[PostSettings], int | None] | None = None
    #: Counts a comment or reply.
    comment_length: Callable[[str], int] = len
    #: Finds the problems of a message other than its length.
    check_text: Callable[[str, PostSettings], list[ApiError]] | None = None
    #: Finds further problems of settings that fit their record (`limits.setting_errors`); the second argument says
    #: whether the post has media.
    check_settings: Callable[[PostSettings, bool], list[ApiError]] | None = None
    #: Yields the checks of `platform check` on our app and a page, one after the other. Makes nothing visible.
    facts: Callable[[Any, Account], Iterator[Fact]] = lambda settings, account: iter(())
    #: The test post of `platform check --post`; None: the platform's API could not remove one.
    trial: Trial | None = None
    #: How often comments are polled (`poll_times.parse_stages`); None: the default of all platforms.
    polls: str | None = None
    #: How the platform's comment webhooks are read; None: the platform has none.
    hooks: Hooks | None = None
    #: How many calls one reply takes: some platforms must first be asked which thread the comment belongs to.
    reply_calls: int = 1
    #: A token with one of these scopes may write comments; empty: every token that may post.
    comment_scopes: tuple[str, ...] = ()
    #: Whether the author of a comment is identified by name because ids are missing or differ between logins.
    has_unique_names: bool = False


def url_errors(field: str, value: Any) -> list[ApiError]:
    """Returns the errors of an address that will be passed to the platform. The address is not requested."""
    try:
        check_url(value)
    except UnsafeAddress as error:
        return [invalid(field, error.reason)]
    return []


def parse(kind: type[R], settings: Mapping[str, Any]) -> R:
    """Converts checked settings into a record of class `kind`, with defaults for missing ones."""
    return msgspec.convert({name: value for name, value in settings.items() if value is not None}, kind)
