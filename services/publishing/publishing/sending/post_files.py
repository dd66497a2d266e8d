"""A post's files at the moment of publishing: their current types and sizes, and where their bytes come from.

An upload is looked up in the media service and read from storage. A file at another URL is copied into our storage
first (`fetched_files`) and then treated in the same way. Platforms that fetch files themselves get our public URL.
"""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from chassis.bus.clients import remote
from contracts.caller import Caller
from contracts.errors import MEDIA_PROCESSING, NOT_FOUND, SERVICE_UNAVAILABLE, ApiError
from contracts.media import GetFiles, LocatedFile, LocateFile, MediaFile
from contracts.renditions import FileFacts, need_of
from publishing.context import AppContext
from publishing.platforms.base import MediaSource, PlatformRefusal, Refusal
from publishing.platforms.uploads.sources import stored
from publishing.records import Attached, Post
from publishing.rules.content import own_file
from publishing.sending import fetched_files

#: Deadline of the call to the media service, which waits 20 s for renditions and then says that they are not ready.
_FILES_SECONDS = 30.0
#: Seconds until a file is asked for again: if the media service names no time, and while a client waits. A picture
#: takes about a second.
_NOT_READY_SECONDS, _LOOK_SECONDS = 5.0, 0.5


class FilesNotReady(Exception):
    """Raised while the media service is still converting a file for the platform. Nothing was sent."""

    def __init__(self, error: ApiError) -> None:
        super().__init__(error.message)
        self.wait_seconds = float(error.extras.get("retry_after_seconds", _NOT_READY_SECONDS))


def held(app: AppContext, post: Post) -> tuple[MediaSource, ...]:
    """Returns the files behind the post's media_ids, converted where the platform needs it. Raises PlatformRefusal if a
    file is gone or cannot be used, and FilesNotReady while a file is being converted."""
    if not post.media_ids:
        return ()
    with _refusals():
        found = _get(app, post.owner, post.platform, post.media_ids)
    return tuple(_source(found[media_id]) for media_id in post.media_ids)


def name_of_copies(operation_id: str | None, post_id: str, page_id: str) -> str:
    """Returns the name under which the files of a post are copied: one for all posts of a request. The operation ids of
    a request for several pages differ in the page's id at their end.
    """
    return (operation_id or post_id).removesuffix(f"_{page_id}")


def await_ready(
    app: AppContext,
    caller: Caller,
    name: str,
    platform: str,
    files: Sequence[Attached],
    urls: Sequence[str],
    seconds: float,
) -> None:
    """Waits until the media service has converted the files, and those at `urls`, for the platform. Files at other
    servers are copied in the name of `name`, which is from `name_of_copies`. Raises MEDIA_PROCESSING after `seconds`.

    Raises SERVICE_UNAVAILABLE if the media service cannot be asked. Ignores other errors, because `held` and `by_url`
    raise them again.
    """
    give_up_at = time.monotonic() + seconds
    needed = [file.media_id for file in files if need_of(platform, file.source.facts) is not None]
    waits: list[Callable[[], object]] = [partial(_get, app, caller, platform, needed)] if needed else []
    try:
        for number, url in enumerate(urls):
            if number and time.monotonic() > give_up_at:  # the next call will find the copies that are made
                raise fetched_files.still_fetched()
            waits.append(_prepared(app, caller, name, platform, url, give_up_at - time.monotonic()))
        while waits:
            try:
                waits[0]()
                del waits[0]
            except ApiError as error:
                if error.row is not MEDIA_PROCESSING or time.monotonic() > give_up_at:
                    raise
                time.sleep(_LOOK_SECONDS)
    except PlatformRefusal:
        return
    except ApiError as error:
        if error.row in (MEDIA_PROCESSING, SERVICE_UNAVAILABLE):
            if error.extras.get("media_id") not in needed:  # that of a copy, which the client cannot ask for
                error.extras.pop("media_id", None)
            raise


def _prepared(
    app: AppContext, caller: Caller, name: str, platform: str, url: str, seconds: float
) -> Callable[[], object]:
    """Copies the file at the URL, if it is not an upload's, in the name of `name`. Returns a function that asks the
    media service for it. Raises PlatformRefusal if that takes longer than `seconds`, and the other errors of `copy`.
    """
    found = own_file(url, app.settings.own_media)
    if found is not None:
        return partial(_locate, app, caller, platform, found)
    copier = fetched_files.copier(caller.account_id, name, url)
    try:
        media_id = fetched_files.copy(app.media, app.settings, copier, url, seconds)
    except ApiError as error:
        if error.row is not MEDIA_PROCESSING:
            raise
        # Another post of the request makes the copy. Both are sent, and wait longer for it then.
        raise PlatformRefusal(Refusal.TRANSIENT, error.code, error.message) from error
    return partial(_get, app, copier, platform, [media_id] if media_id else [])


def _get(app: AppContext, caller: Caller, platform: str, media_ids: Collection[str]) -> dict[str, MediaFile]:
    """Returns the files, converted where the platform needs it, by media id. Raises the errors of the media service."""
    request = GetFiles(media_ids=tuple(dict.fromkeys(media_ids)), platform=platform)
    answer = remote(app.media.get_files)(caller, request, timeout_seconds=_FILES_SECONDS)
    return {file.media_id: file for file in answer.files}


def by_url(app: AppContext, post: Post) -> tuple[MediaSource, ...]:
    """Returns the files behind the post's media_urls, converted where the platform needs it. Raises PlatformRefusal
    (retryable if the file's server may recover), and FilesNotReady while a file is being converted.
    """
    return tuple(_own(app, post, url) or _copied(app, post, url) for url in post.media_urls)


def files_of(app: AppContext, post: Post) -> list[tuple[str, MediaSource]]:
    """Returns all files of the post, each with its name in error messages: those of `held`, then those of `by_url`."""
    return [
        *((f"media_ids[{number}]", source) for number, source in enumerate(held(app, post))),
        *((f"media_urls[{number}]", source) for number, source in enumerate(by_url(app, post))),
    ]


def _source(file: MediaFile) -> MediaSource:
    opener = stored(file.source_url, file.size_bytes)
    return MediaSource.of(
        FileFacts.made_from(file), url=file.public_url, is_ai_made=file.generated, opener=opener
    )


def _own(app: AppContext, post: Post, url: str) -> MediaSource | None:
    """Returns the upload that has this public URL, as the media service describes it; None for a URL that is not
    ours."""
    found = own_file(url, app.settings.own_media)
    if found is None:
        return None
    with _refusals():
        file = _locate(app, post.owner, post.platform, found)
    facts = FileFacts.made_from(file, type=fetched_files.kind_of(file.mime_type))
    opener = stored(file.source_url, file.size_bytes)
    return MediaSource.of(facts, url=file.public_url or url, is_ai_made=file.generated, opener=opener)


def _copied(app: AppContext, post: Post, url: str) -> MediaSource:
    """Returns our copy of a file at another server; the file itself if it cannot be copied. All posts of a request that
    are due at the same time share the copy. A post that somebody retries or moves to another time gets a new copy,
    because the file may have been replaced meanwhile.
    """
    name = name_of_copies(post.operation_id, post.id, post.page_id)
    if post.origin == "scheduled":
        name = f"{post.id} {post.attempts_before}" if post.attempts_before else f"{name} {post.scheduled_at}"
    copier = fetched_files.copier(post.account_id, name, url)
    with _refusals(f"{url}: "):
        seconds = app.settings.media_transfer_seconds
        media_id = fetched_files.copy(app.media, app.settings, copier, url, seconds)
        if media_id is not None:
            found = _get(app, copier, post.platform, [media_id])
            return replace(_source(found[media_id]), is_ai_made=False)
    return fetched_files.as_it_is(app.settings, url)


def _locate(app: AppContext, caller: Caller, platform: str, found: tuple[str, str]) -> LocatedFile:
    """Returns the upload with this key and filename, converted where the platform needs it. Raises the errors of the
    media service.
    """
    request = LocateFile(key=found[0], filename=found[1], platform=platform)
    return remote(app.media.locate_file)(caller, request, timeout_seconds=_FILES_SECONDS)


@contextmanager
def _refusals(prefix: str = "") -> Iterator[None]:
    """Turns errors of the media service, raised in the block, into refusals: permanent if the file is gone or bad,
    temporary if the service is unavailable. MEDIA_PROCESSING becomes FilesNotReady. `prefix` begins the message about a
    bad file."""
    try:
        yield
    except ApiError as error:
        if error.row is MEDIA_PROCESSING:
            raise FilesNotReady(error) from error
        if error.row is NOT_FOUND:
            message = "A file of this post is no longer there."
            raise PlatformRefusal(Refusal.REJECTED, "MEDIA_GONE", message) from error
        if error.row.http_status < 500:
            raise PlatformRefusal(Refusal.REJECTED, error.code, f"{prefix}{error.message}") from error
        message = "The post's files cannot be had just now."
        raise PlatformRefusal(Refusal.TRANSIENT, "MEDIA_UNAVAILABLE", message) from error
