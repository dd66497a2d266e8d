"""Attaches uploaded files to a post before the post is stored, and detaches them at once if it is not stored.

An attachment is provisional until the event `post.media` (`post_events.py`), staged with the post, confirms it. If the
process dies before that, the media service drops the attachment. `settle` and `restore` call the media service without
waiting for that event, so that a client can delete a file as soon as no post uses it. Nothing here runs inside a
transaction.
"""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TypeVar

import structlog

from chassis.bus.clients import remote
from chassis.db.operations import Done
from chassis.ids import is_id
from contracts import media as api
from contracts.caller import Caller
from contracts.errors import NOT_FOUND, SERVICE_UNAVAILABLE, ApiError
from publishing.context import AppContext
from publishing.records import UNENDED, Attached, Post
from publishing.rules.content import find_nothing
from publishing.store.posts import Posts

log = structlog.get_logger()
Request = TypeVar("Request")
Result = TypeVar("Result")

#: Half of the ten seconds that a client's call has: the other half is left for storing the post.
_ATTACH_SECONDS = 5.0
#: Short, because the event detaches the files as well.
_DETACH_SECONDS = 1.0


class Attachment:
    """A context manager that attaches files to a post that is about to be stored.

    Detaches the files of a new post again if the block raises Done (an earlier try has made the post) or an ApiError
    other than SERVICE_UNAVAILABLE. After SERVICE_UNAVAILABLE they stay attached, because the post may have been stored.
    """

    def __init__(
        self, app: AppContext, caller: Caller, post_id: str, *, revision: int = 1, is_new: bool = True
    ) -> None:
        self._app, self._caller = app, caller
        self.post_id = post_id
        #: The post's `media_revision` once it is stored with these files.
        self._revision = revision
        #: Whether the post is new, so that nothing else refers to its id.
        self.is_new = is_new
        self.files: tuple[Attached, ...] = ()

    def attach(self, platform: str, media_ids: Sequence[str]) -> tuple[Attached, ...]:
        """Attaches the files to the post for this platform, and returns them. Raises NOT_FOUND for a file that the
        caller may not use, and SERVICE_UNAVAILABLE if the media service does not answer.
        """
        self.files = attach(self._app, self._caller, self.post_id, platform, media_ids, self._revision)
        return self.files

    def __enter__(self) -> "Attachment":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        # After SERVICE_UNAVAILABLE the post may have been stored.
        is_refused = isinstance(problem, ApiError) and problem.row is not SERVICE_UNAVAILABLE
        if is_refused or isinstance(problem, Done):
            self._give_back()

    def _give_back(self) -> None:
        if self.files and self.is_new:
            _detach(self._app, self._caller, self.post_id)


def attach(
    app: AppContext, caller: Caller, post_id: str, platform: str, media_ids: Sequence[str], revision: int
) -> tuple[Attached, ...]:
    """Attaches files to a post, provisionally: the media service drops them unless the event `post.media` confirms
    them. Returns the files in the order of `media_ids`.

    Files that an earlier event confirmed stay attached. The media service begins to convert files that the platform
    does not take as they are. `revision` is the version of the post's list of files (`media_revision`). Raises the
    errors of `Attachment.attach`.
    """
    request = api.AttachMedia(
        post_id=post_id, media_ids=_plausible(media_ids), revision=revision, platforms=(platform,)
    )
    answer = _asked(app.media.attach_media, caller, request)
    known = {media.media_id: Attached.made_from(media) for media in answer.media}
    return tuple(known[media_id] for media_id in media_ids)


def look(app: AppContext, caller: Caller, media_ids: Sequence[str]) -> tuple[Attached, ...]:
    """Reads the details of files without attaching them. Raises the errors of `Attachment.attach`."""
    known = {
        media_id: Attached.made_from(_asked(app.media.get_media, caller, api.MediaId(id=media_id)))
        for media_id in _plausible(media_ids)
    }
    return tuple(known[media_id] for media_id in media_ids)


def settle(app: AppContext, post: Post, revision: int = 0) -> None:
    """Tells the media service at once which files a post uses now. If the service does not answer, the event
    `post.media` tells it later.

    `revision` matters only for a post that uses no files any more: it is the revision of the post's newest event
    `post.media`. The media service ignores older events that arrive later.
    """
    if post.state in UNENDED and post.media_ids:
        try:
            attach(app, post.owner, post.id, post.platform, post.media_ids, post.media_revision)
        except ApiError as error:
            log.warning("attach_put_off", post_id=post.id, code=error.code)
    else:
        _detach(app, post.owner, post.id, revision)


def restore(app: AppContext, post_id: str) -> None:
    """Tells the media service which files the stored post uses, after a change of the post was refused."""
    with app.database.reading() as connection:
        post = Posts(connection).get(post_id)
    if post is not None:
        settle(app, post)


def _detach(app: AppContext, caller: Caller, post_id: str, revision: int = 0) -> None:
    request = api.DetachMedia(post_id=post_id, revision=revision)
    try:
        remote(app.media.detach_media)(caller, request, timeout_seconds=_DETACH_SECONDS)
    except ApiError as error:
        log.warning("detach_put_off", post_id=post_id, code=error.code)


def _plausible(media_ids: Sequence[str]) -> tuple[str, ...]:
    """Returns each id once, in order. Raises NOT_FOUND for a value that cannot be an id."""
    for media_id in media_ids:
        if not is_id(media_id):
            find_nothing((media_id,))
    return tuple(dict.fromkeys(media_ids))


def _asked(method: Callable[[Caller, Request], Result], caller: Caller, request: Request) -> Result:
    """Calls a method of the media service. If the call raises NOT_FOUND, the error gets the field media_ids."""
    try:
        return remote(method)(caller, request, timeout_seconds=_ATTACH_SECONDS)
    except ApiError as error:
        if error.row is NOT_FOUND:
            raise ApiError(NOT_FOUND, "There is no such media.", field="media_ids") from error
        raise
