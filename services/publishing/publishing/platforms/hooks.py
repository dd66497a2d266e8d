"""The interface of a platform's comment webhooks, which the platform's folder implements. It depends on no platform."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from publishing.platforms.base import RemoteComment


class NoHook(Exception):
    """Raised when the body of a webhook is not a JSON object."""


@dataclass(frozen=True, slots=True)
class HookComment:
    """A new comment that a webhook reports. `is_whole` is False if its author or time is a placeholder."""

    account_id: str
    post_id: str
    comment: RemoteComment
    is_whole: bool


class Hooks(NamedTuple):
    """The functions that read one platform's webhooks, which arrive at /hooks/<the platform's full lowercase name>.

    All of them except `comments_in` take the platform's settings as their first argument.
    """

    #: Whether webhooks are configured.
    is_set_up: Callable[[Any], bool]
    #: The token with which the platform verifies our address; empty: the verification is refused.
    verify_token: Callable[[Any], str]
    #: Whether the platform has signed a raw body.
    is_signed: Callable[[Any, bytes, str], bool]
    #: Reads the new comments from a body, in its order. Raises NoHook.
    comments_in: Callable[[bytes], list[HookComment]]
