"""Describes how `posthaste platform check --post` makes a test post on a linked page and removes it again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from publishing.platforms.base import Account, Content


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How `posthaste platform check --post` makes, finds and removes its test post on one platform.

    The test post is either published like any other post (`content`), or only prepared, so that nobody sees it
    (`stage`).

    The functions take the platform's settings, and raise PlatformRefusal if the platform refuses.
    """

    #: The post as people read it: "a private video".
    what: str
    #: Whether everybody sees the post until it is removed, because the platform has only public posts.
    is_public: bool = False
    #: Whether `stage` needs the address of a photo.
    needs_photo: bool = False
    #: Builds what the connector publishes, from the text that names the test.
    content: Callable[[str], Content] | None = None
    #: Makes something that nobody sees, so it may be repeated: (settings, account, text, photo's address) → its id.
    stage: Callable[[Any, Account, str, str], str] | None = None
    #: Removes the post, and may be repeated; None: nobody ever sees the post, and the platform removes it.
    remove: Callable[[Any, Account, str], None] | None = None
    #: Finds in a checkpoint the id of what a post that failed leaves on the platform.
    left: Callable[[Mapping[str, Any]], str | None] = lambda checkpoint: None
