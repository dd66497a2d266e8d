"""An account's files: lists, shows and deletes them, and finds one by its public address."""

from typing import Any

from chassis.cursor import decode_position, encode_position
from contracts import media as api
from contracts.caller import Caller
from contracts.errors import MEDIA_IN_USE, NOT_FOUND, ApiError
from contracts.plans import PLANS
from contracts.platforms import JPEG
from contracts.renditions import need_of
from media import names
from media.cleanup.removals import REMOVALS_DUE
from media.context import URL_VALID_FOR, AppContext, reachable, reaches
from media.files import renditions
from media.records import MediaRow
from media.store.attachments import Attachments
from media.store.files import Files, narrowing
from media.store.removals import Removals
from media.store.renditions import Renditions


def show_list(context: AppContext, caller: Caller, request: api.ListMedia) -> api.MediaList:
    """Returns one page of the list of files, newest first, or the files whose ids are in the request.

    The answer has the account's storage quota too. A page of a filtered list reads a limited number of files. It may
    therefore be empty and still have a cursor.
    """
    with context.database.reading() as connection:
        files, end = Files(connection), None
        if request.media_ids is not None:
            chosen = _chosen(files, caller, request.media_ids)
            quota = context.storage(connection, caller)
            return api.MediaList(media=tuple(map(context.view, chosen)), tier=caller.tier, quota=quota)
        reach: Any = {"brand_ids": caller.brand_ids, "after": decode_position(request.cursor)}
        narrowed = narrowing(request.type, request.unused, request.search)
        if narrowed:
            end = files.newest_end(caller.account_id, **reach)
        found = files.newest(caller.account_id, **reach, narrowed=narrowed, end=end, limit=request.limit + 1)
        quota = context.storage(connection, caller)
    shown = found[: request.limit]
    if len(found) > request.limit:
        end = shown[-1].created_at, shown[-1].id
    cursor = encode_position(*end) if end is not None else None
    return api.MediaList(
        media=tuple(map(context.view, shown)), tier=caller.tier, quota=quota, next_cursor=cursor
    )


def _chosen(files: Files, caller: Caller, media_ids: str) -> list[MediaRow]:
    """Returns those of the files with these comma-separated ids that the caller may see, in their order."""
    asked = tuple(dict.fromkeys(media_ids.split(",")))
    rows = files.many(asked)
    return [rows[it] for it in asked if it in rows and reaches(caller, rows[it])]


def show(context: AppContext, caller: Caller, request: api.MediaId) -> api.Media:
    """Returns a file's details. Raises NOT_FOUND."""
    with context.database.reading() as connection:
        return context.view(reachable(caller, Files(connection).get(request.id)))


def delete(context: AppContext, caller: Caller, request: api.MediaId) -> api.MediaDeleted:
    """Deletes the file's row at once and its objects in the background. A repeated operation gets the same answer.

    Raises NOT_FOUND, MEDIA_IN_USE.
    """
    with context.database.transaction() as connection:
        files = Files(connection)
        try:
            row = reachable(caller, files.many([request.id], lock=True).get(request.id))
        except ApiError:
            if files.deleted_by_operation(caller.account_id, caller.operation_id) != request.id:
                raise
            return api.MediaDeleted(success=True, media_id=request.id)
        if post_id := Attachments(connection).holder(row.id):
            raise ApiError(MEDIA_IN_USE, scheduled_post_id=post_id)
        files.remove(row.id)
        if caller.operation_id is not None:
            files.note_deleted(row.account_id, row.id, caller.operation_id)
        Removals(connection).add([row])
    REMOVALS_DUE.wake()
    return api.MediaDeleted(success=True, media_id=row.id)


def show_storage(context: AppContext, caller: Caller) -> api.StorageView:
    with context.database.reading() as connection:
        quota = context.storage(connection, caller)
    return api.StorageView(quota=quota, max_file_bytes=PLANS[caller.tier].max_file_bytes)


def locate(context: AppContext, request: api.LocateFile) -> api.LocatedFile:
    """Returns where the file behind a public address is stored, for anybody who has the address.

    If the request names a platform, returns the rendition that this platform needs. Raises NOT_FOUND, and the errors of
    `renditions.ready`.
    """
    if not names.is_key(request.key):
        raise ApiError(NOT_FOUND)
    made, slug = None, request.filename
    with context.database.reading() as connection:
        row = Files(connection).by_key(request.key)
        if row is not None and slug != row.slug:
            made = Renditions(connection).made(row.id, slug)
    if row is None:
        raise ApiError(NOT_FOUND)
    need = need_of(request.platform, row.facts) if request.platform and slug == row.slug else None
    if need is not None:
        made = renditions.ready(context, row, need, renditions.give_up_at())
        slug = made.slug
    if made is not None:
        mime_type, size_bytes = made.need.mime_type, made.size_bytes or 0
    elif slug == row.slug:
        mime_type, size_bytes = row.mime_type, row.size_bytes
    elif row.thumbnail_size_bytes and slug == api.thumbnail_of(row.slug):
        mime_type, size_bytes = JPEG, row.thumbnail_size_bytes
    elif row.jpeg_size_bytes and slug == names.jpeg_slug(row.slug):
        mime_type, size_bytes = JPEG, row.jpeg_size_bytes
    else:
        raise ApiError(NOT_FOUND)
    name = row.object_of(slug)
    return api.LocatedFile(
        source_url=context.bucket.get_url(name, mime_type, URL_VALID_FOR),
        mime_type=mime_type,
        size_bytes=size_bytes,
        # Content under a name never changes.
        etag=f'"{row.key if made is None else made.id}-{size_bytes}"',
        created_at=row.created_at,
        generated=row.generated,
        public_url=context.public_url(name) if need is not None else None,
        width=made.width if made is not None else row.width,
        height=made.height if made is not None else row.height,
        duration_seconds=row.duration_seconds,
        frame_rate=made.need.frame_rate or row.frame_rate if made is not None else row.frame_rate,
    )
