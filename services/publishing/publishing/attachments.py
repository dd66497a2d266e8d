"""Files of media's that posts hold: attached before the post is stored, given back at once when it is not.

media keeps an attachment for a while until the event `post.media` (`telling.py`), staged with the post, confirms it:
who dies in between leaves nothing behind. What is done here at once, beside the events, is for clients that delete a
file right after their post let go of it. Nothing here runs inside a transaction.
"""

from collections.abc import Sequence
from types import TracebackType
from typing import Any

import structlog

from chassis.db.operations import Done
from contracts import media as api
from contracts.caller import Caller
from contracts.errors import NOT_FOUND, SERVICE_UNAVAILABLE, ApiError
from publishing.context import House
from publishing.records import UNENDED, Attached, Post, is_id
from publishing.rules.content import find_nothing
from publishing.store.posts import Posts

log = structlog.get_logger()

#: Within the ten seconds a client's call has. Our choice.
_ATTACH_SECONDS = 5.0
#: Giving back is no more than a courtesy: the event follows. Our choice.
_DETACH_SECONDS = 1.0


class Attachment:
    """The files of a post that is about to be stored. A context: they are given back at once if the post is refused
    inside it, or another try has made one instead."""

    def __init__(
        self, house: House, caller: Caller, post_id: str, *, revision: int = 1, is_new: bool = True
    ) -> None:
        self._house, self._caller = house, caller
        self.post_id = post_id
        #: The post's `media_revision` once it is stored with these files.
        self._revision = revision
        #: Whether nobody else knows the post's id yet.
        self.is_new = is_new
        self.files: tuple[Attached, ...] = ()

    def attach(self, media_ids: Sequence[str]) -> tuple[Attached, ...]:
        """The files, attached to the post. Raises NOT_FOUND, SERVICE_UNAVAILABLE."""
        self.files = attach(self._house, self._caller, self.post_id, media_ids, self._revision)
        return self.files

    def __enter__(self) -> "Attachment":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        # After SERVICE_UNAVAILABLE the post may have been stored all the same.
        is_refused = isinstance(problem, ApiError) and problem.row is not SERVICE_UNAVAILABLE
        if is_refused or isinstance(problem, Done):
            self._give_back()

    def _give_back(self) -> None:
        if self.files and self.is_new:
            _detach(self._house, self._caller, self.post_id)


def attach(
    house: House, caller: Caller, post_id: str, media_ids: Sequence[str], revision: int
) -> tuple[Attached, ...]:
    """Attaches files provisionally for this `media_revision` of a post, beside those that an event has confirmed.
    Returns them in their order.

    Raises NOT_FOUND, SERVICE_UNAVAILABLE.
    """
    request = api.AttachMedia(post_id=post_id, media_ids=_plausible(media_ids), revision=revision)
    answer = _asked(house.media.attach_media, caller, request)
    known = {media.media_id: Attached.of(media) for media in answer.media}
    return tuple(known[media_id] for media_id in media_ids)


def look(house: House, caller: Caller, media_ids: Sequence[str]) -> tuple[Attached, ...]:
    """The same files, attached to nothing. Raises NOT_FOUND, SERVICE_UNAVAILABLE."""
    known = {
        media_id: Attached.of(_asked(house.media.get_media, caller, api.MediaId(id=media_id)))
        for media_id in _plausible(media_ids)
    }
    return tuple(known[media_id] for media_id in media_ids)


def settle(house: House, post: Post, revision: int = 0) -> None:
    """Has media at once hold for a post what it holds now, if it answers; the event says the same later.

    `revision`: of the newest word about its files, so that what was said before does not come after this.
    """
    if post.state in UNENDED and post.media_ids:
        try:
            attach(house, post.owner, post.id, post.media_ids, post.media_revision)
        except ApiError as error:
            log.warning("attach_put_off", post_id=post.id, code=error.code)
    else:
        _detach(house, post.owner, post.id, revision)


def restore(house: House, post_id: str) -> None:
    """The same after a change that was refused, from what is stored."""
    with house.database.reading() as connection:
        post = Posts(connection).get(post_id)
    if post is not None:
        settle(house, post)


def _detach(house: House, caller: Caller, post_id: str, revision: int = 0) -> None:
    request = api.DetachMedia(post_id=post_id, revision=revision)
    try:
        house.media.detach_media(caller, request, timeout_seconds=_DETACH_SECONDS)
    except ApiError as error:
        log.warning("detach_put_off", post_id=post_id, code=error.code)


def _plausible(media_ids: Sequence[str]) -> tuple[str, ...]:
    """Each id once. Raises NOT_FOUND for what cannot be one."""
    for media_id in media_ids:
        if not is_id(media_id):
            find_nothing((media_id,))
    return tuple(dict.fromkeys(media_ids))


def _asked(method: Any, caller: Caller, request: Any) -> Any:
    """media's answer; its NOT_FOUND names our field."""
    try:
        return method(caller, request, timeout_seconds=_ATTACH_SECONDS)
    except ApiError as error:
        if error.row is NOT_FOUND:
            raise ApiError(NOT_FOUND, "There is no such media.", field="media_ids") from error
        raise
