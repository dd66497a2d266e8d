"""An account's files: lists, shows and deletes them."""

from chassis.cursor import decode_position, encode_position
from contracts import media as api
from contracts.caller import Caller
from contracts.errors import MEDIA_IN_USE, ApiError
from contracts.plans import PLANS
from media.cleanup import REMOVALS_DUE
from media.context import AppContext, reachable, reaches
from media.store.attachments import Attachments
from media.store.files import Files, narrowing
from media.store.removals import Removals


def show_list(context: AppContext, caller: Caller, request: api.ListMedia) -> api.MediaList:
    """Returns one page of the list of files, newest first, or the files with the requested ids, in their order. A page
    of a filtered list may be empty and still have a cursor, because it reads a limited number of files.
    """
    with context.database.reading() as connection:
        files = Files(connection)
        if request.media_ids is not None:
            asked = dict.fromkeys(request.media_ids.split(","))
            rows, end = files.many(asked), None
            shown = [rows[it] for it in asked if it in rows and reaches(caller, rows[it])]
        else:
            narrowed = narrowing(request.type, request.unused, request.search)
            shown, end = files.newest(caller, decode_position(request.cursor), request.limit, narrowed)
        quota = context.storage(connection, caller)
    cursor = encode_position(*end) if end is not None else None
    media = tuple(map(context.view, shown))
    return api.MediaList(media=media, tier=caller.tier, quota=quota, next_cursor=cursor)


def show(context: AppContext, caller: Caller, request: api.MediaId) -> api.Media:
    """Returns a file's details. Raises NOT_FOUND for a file that the caller may not see."""
    with context.database.reading() as connection:
        return context.view(reachable(caller, Files(connection).get(request.id)))


def made(context: AppContext, caller: Caller) -> api.MadeFile:
    """Returns the generated file of the caller's operation, or none."""
    with context.database.reading() as connection:
        row = Files(connection).by_operation(caller.account_id, caller.operation_id)
    return api.MadeFile(media_id=row.id if row else None)


def delete(context: AppContext, caller: Caller, request: api.MediaId) -> api.MediaDeleted:
    """Deletes the file's row at once and its objects in the background. A repeated operation gets the same answer.
    Raises NOT_FOUND for a file that the caller may not see, and MEDIA_IN_USE for one that a pending post uses.
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
