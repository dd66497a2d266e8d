"""Platforms that tell of new comments by themselves: what is asked of such a one. No platform's manners are here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from publishing.platforms.base import RemoteComment


class NoHook(Exception):
    """The body is no JSON object."""


@dataclass(frozen=True, slots=True)
class HookComment:
    """A new comment under a post of an account. Not `is_whole`: its author or time is a stopgap."""

    account_id: str
    post_id: str
    comment: RemoteComment
    is_whole: bool


class Hooks(NamedTuple):
    """A platform's own calls, to /hooks/<its full lowercase name>. The first argument is its settings."""

    #: Whether calls are to be expected at all.
    is_set_up: Callable[[Any], bool]
    #: What it says when it asks whether the address is ours; empty: it is not.
    verify_token: Callable[[Any], str]
    #: Whether a call's raw body is signed by it.
    is_signed: Callable[[Any, bytes, str], bool]
    #: The new comments a call tells of, in its order. Raises NoHook.
    comments_in: Callable[[bytes], list[HookComment]]
