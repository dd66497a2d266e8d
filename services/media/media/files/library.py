"""An account's media: list, show, delete, and locate by public address."""

from chassis.cursor import decode_position, encode_position
from contracts import media as api
from contracts.caller import Caller
from contracts.errors import MEDIA_IN_USE, NOT_FOUND, ApiError
from contracts.plans import PLANS
from media import names
from media.cleanup.removals import REMOVALS_DUE
from media.context import URL_VALID_FOR, AppContext, reachable
from media.store.attachments import Attachments
from media.store.files import Files
from media.store.removals import Removals


def show_list(context: AppContext, caller: Caller, request: api.ListMedia) -> api.MediaList:
    """Returns a page of media, newest first."""
    with context.database.reading() as connection:
        found = Files(connection).newest(
            caller.account_id,
            brand_ids=caller.brand_ids,
            after=decode_position(request.cursor),
            limit=request.limit + 1,
        )
        quota = context.storage(connection, caller)
    shown, cursor = found[: request.limit], None
    if len(found) > request.limit:
        cursor = encode_position(shown[-1].created_at, shown[-1].id)
    return api.MediaList(
        media=tuple(map(context.view, shown)), tier=caller.tier, quota=quota, next_cursor=cursor
    )


def show(context: AppContext, caller: Caller, request: api.MediaId) -> api.Media:
    """Raises NOT_FOUND."""
    with context.database.reading() as connection:
        return context.view(reachable(caller, Files(connection).get(request.id)))


def delete(context: AppContext, caller: Caller, request: api.MediaId) -> api.MediaDeleted:
    """Deletes the row at once and the objects in the background. The operation that deleted it may be repeated.

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
    """Returns where a public file is stored, for anybody who has its address. Raises NOT_FOUND."""
    if not names.is_key(request.key):
        raise ApiError(NOT_FOUND)
    with context.database.reading() as connection:
        row = Files(connection).by_key(request.key)
    if row is not None and request.filename == row.slug:
        name, mime_type, size_bytes = row.object_name, row.mime_type, row.size_bytes
    elif row is not None and row.jpeg_size_bytes and request.filename == names.jpeg_slug(row.slug):
        name, mime_type, size_bytes = row.jpeg_name, "image/jpeg", row.jpeg_size_bytes
    else:
        raise ApiError(NOT_FOUND)
    return api.LocatedFile(
        source_url=context.bucket.get_url(name, mime_type, URL_VALID_FOR),
        mime_type=mime_type,
        size_bytes=size_bytes,
        # Content under a key never changes.
        etag=f'"{row.key}-{size_bytes}"',
        created_at=row.created_at,
        generated=row.generated,
    )
