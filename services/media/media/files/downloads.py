"""Serves files: the originals, or the renditions that a platform needs, to our own services and at public addresses."""

import time

from msgspec.structs import replace

from contracts.caller import Caller
from contracts.errors import NOT_FOUND, ApiError
from contracts.media import GetFiles, LocatedFile, LocateFile, MediaFile, MediaFiles, thumbnail_of
from contracts.platforms import JPEG, PLATFORMS
from contracts.renditions import FileFacts, Need, need_of
from media import names
from media.context import AppContext, reachable
from media.files import renditions
from media.models import MediaRow, Rendition
from media.store.files import Files
from media.store.renditions import Renditions

#: What `GetFiles.jpeg` asks for: within the limit of Instagram, which is the smallest of those that take JPEGs alone.
JPEG_COPY = Need(mime_type=JPEG, max_bytes=PLATFORMS["IG"].files["photo"].size_bytes[1] or 0)


def get_files(context: AppContext, caller: Caller, request: GetFiles) -> MediaFiles:
    """Returns URLs and properties of files, or of the renditions that the request's platform needs of them. Raises
    NOT_FOUND, with the field media_ids, for a file that the caller may not use, and the errors of `renditions.ready`.
    """
    with context.database.reading() as connection:
        found = Files(connection).many(request.media_ids)
    rows = [reachable(caller, found.get(media_id), "media_ids") for media_id in request.media_ids]
    began = time.monotonic()
    return MediaFiles(files=tuple(_file(context, row, request, began) for row in rows))


def _file(context: AppContext, row: MediaRow, request: GetFiles, began: float) -> MediaFile:
    is_copied = request.jpeg and row.kind == "photo" and row.mime_type != JPEG
    need = need_of(request.platform, row.facts) if request.platform else JPEG_COPY if is_copied else None
    made = renditions.ready(context, row, need, began) if need is not None else None
    name, facts = row.object_of(made.slug if made else row.slug), _facts(row, made)
    return MediaFile.made_from(
        facts,
        media_id=row.id,
        source_url=context.bucket.get_url(name, facts.mime_type or row.mime_type),
        public_url=context.public_url(name),
        generated=row.generated,
    )


def _facts(row: MediaRow, made: Rendition | None) -> FileFacts:
    if made is None:
        return row.facts
    return FileFacts.made_from(
        made,
        type=row.kind,
        mime_type=made.need.mime_type,
        duration_seconds=made.duration_seconds or row.duration_seconds,
        frame_rate=made.need.frame_rate or row.frame_rate,
    )


def locate(context: AppContext, request: LocateFile) -> LocatedFile:
    """Returns where the file behind a public address is stored, or the rendition of it that the request's platform
    needs. Raises NOT_FOUND if there is no such file, and the errors of `renditions.ready`.
    """
    slug, need = request.filename, None
    with context.database.reading() as connection:
        row = Files(connection).by_key(request.key) if names.is_key(request.key) else None
        if row is None:
            raise ApiError(NOT_FOUND)
        made = Renditions(connection).made(row.id, slug) if slug != row.slug else None
    if slug == row.slug and request.platform and (need := need_of(request.platform, row.facts)):
        made = renditions.ready(context, row, need, time.monotonic())
        slug = made.slug
    facts = _facts(row, made)
    if made is None and slug != row.slug:
        if slug != thumbnail_of(row.slug) or not row.thumbnail_size_bytes:
            raise ApiError(NOT_FOUND)
        facts = replace(facts, mime_type=JPEG, size_bytes=row.thumbnail_size_bytes)
    name = row.object_of(slug)
    return LocatedFile.made_from(
        facts,
        source_url=context.bucket.get_url(name, facts.mime_type or row.mime_type),
        # Content under a name never changes.
        etag=f'"{made.id if made else row.key}-{facts.size_bytes}"',
        created_at=row.created_at,
        generated=row.generated,
        public_url=context.public_url(name) if need is not None else None,
    )
