"""Pictures a caller refers to: strangers' URLs through the guarded client, and his own media."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ai.house import House
from ai.pictures import REFERENCE_TYPES, mime_type_of
from ai.providers.base import Picture
from ai.storage import StorageFailed
from chassis.addresses import UnsafeAddress
from chassis.guarded_http import FetchFailed, fetch
from chassis.service import spawn_all
from contracts.caller import Caller
from contracts.errors import BRAND_NOT_AUTHORIZED, INVALID_REFERENCE_MEDIA, NOT_FOUND, ApiError
from contracts.media import GetFiles, MediaFile

#: What servers call them.
_DECLARED_TYPES = (*REFERENCE_TYPES, "image/jpg")


@contextmanager
def collected(
    house: House, caller: Caller, *, urls: Sequence[str] = (), media_ids: Sequence[str] = ()
) -> Iterator[tuple[Picture, ...]]:
    """All pictures, those by URL first, in memory that is theirs until the block ends.

    Raises INVALID_REFERENCE_MEDIA, SERVICE_UNAVAILABLE.
    """
    files = _files(house, caller, media_ids)
    most_bytes = len(urls) * house.settings.max_reference_bytes + sum(file.size_bytes for file in files)
    with house.room(most_bytes) as keep:
        pictures = _fetched_all(house, urls, files)
        keep(sum(len(picture.body) for picture in pictures))
        yield pictures


def _fetched_all(house: House, urls: Sequence[str], files: Sequence[MediaFile]) -> tuple[Picture, ...]:
    deadline = time.monotonic() + house.settings.reference_seconds
    tasks = [lambda url=url: _fetched(house, url, deadline) for url in urls]
    tasks += [lambda file=file: _stored(house, file, deadline) for file in files]
    pictures = spawn_all(tasks)
    for picture in pictures:
        if isinstance(picture, Exception):
            raise picture
    return tuple(pictures)


def _fetched(house: House, url: str, deadline: float) -> Picture:
    try:
        answer = fetch(
            url,
            max_bytes=house.settings.max_reference_bytes,
            timeout_seconds=max(deadline - time.monotonic(), 0.1),
            allowed_types=_DECLARED_TYPES,
            host_map=house.settings.outbound_host_map,
        )
    except UnsafeAddress as error:
        raise _invalid(url, error.reason) from error
    except FetchFailed as error:
        raise _invalid(url, error.message) from error
    if answer.status != 200:
        raise _invalid(url, f"Its server answers {answer.status}.")
    return _judged(url, answer.body)


def _files(house: House, caller: Caller, media_ids: Sequence[str]) -> Sequence[MediaFile]:
    if not media_ids:
        return ()
    try:
        files: Sequence[MediaFile] = house.media.get_files(caller, GetFiles(media_ids=tuple(media_ids))).files
    except ApiError as error:
        if error.row in (NOT_FOUND, BRAND_NOT_AUTHORIZED):
            raise ApiError(
                INVALID_REFERENCE_MEDIA, "A media id is not an image you own.", **error.extras
            ) from error
        raise
    for file in files:
        if file.mime_type not in REFERENCE_TYPES:
            raise _invalid(file.media_id, "It is no JPEG, PNG or WebP.")
        if file.size_bytes > house.settings.max_reference_bytes:
            raise _invalid(file.media_id, f"It is larger than {house.settings.max_reference_bytes} bytes.")
    return files


def _stored(house: House, file: MediaFile, deadline: float) -> Picture:
    try:
        body = house.storage.get(
            file.source_url, max_bytes=house.settings.max_reference_bytes, deadline=deadline
        )
    except StorageFailed as error:
        raise _invalid(file.media_id, "It could not be read.") from error
    return _judged(file.media_id, body)


def _judged(reference: str, body: bytes) -> Picture:
    mime_type = mime_type_of(body)
    if mime_type not in REFERENCE_TYPES:
        raise _invalid(reference, "It is no JPEG, PNG or WebP.")
    return Picture(body, mime_type)


def _invalid(reference: str, why: str) -> ApiError:
    return ApiError(INVALID_REFERENCE_MEDIA, f"{reference[:200]}: {why}", reference=reference)
