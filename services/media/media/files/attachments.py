"""Attaches files to posts: provisionally before a post is stored, and for good by the event `post.media`."""

from contracts.caller import Caller
from contracts.events import PostMedia
from contracts.media import AttachedMedia, AttachMedia, DetachMedia
from contracts.record import Nothing
from media.context import AppContext, reachable
from media.files import renditions
from media.store import Connection
from media.store.attachments import Attachments
from media.store.files import Files


def attach(context: AppContext, caller: Caller, request: AttachMedia) -> AttachedMedia:
    """Attaches files provisionally to a post that is about to be stored, and begins the renditions that it needs.
    Confirmed files stay. Raises NOT_FOUND, with the field media_ids, for a file that the caller may not use.
    """
    with context.database.transaction() as connection:
        files, attachments = Files(connection), Attachments(connection)
        found = files.many(request.media_ids, lock=True)
        for media_id in request.media_ids:
            reachable(caller, found.get(media_id), "media_ids")
        attachments.detach_provisional(request.post_id, keep=request.media_ids)
        of_post = {"post_id": request.post_id, "revision": request.revision, "account_id": caller.account_id}
        attachments.attach(found, **of_post, operation_id=caller.operation_id, confirmed=False)
        found = files.many(request.media_ids)
        renditions.begin(connection, found.values(), request.platforms)
    renditions.RENDITIONS_DUE.wake()
    return AttachedMedia(media=tuple(context.view(found[media_id]) for media_id in request.media_ids))


def detach(context: AppContext, request: DetachMedia) -> Nothing:
    """Detaches a post's files at once. If the request has a revision, files attached for a later one stay."""
    with context.database.transaction() as connection:
        attachments = Attachments(connection)
        if not request.revision:
            attachments.detach(request.post_id)
            return Nothing()
        attachments.detach_earlier_tries(request.post_id)
        if request.revision > 1:
            attachments.record_revision(request.post_id, request.revision - 1)
        attachments.release(request.post_id, request.revision)
    return Nothing()


def on_post_media(connection: Connection, account_id: str, word: PostMedia) -> None:
    """Attaches the files that a pending post uses now and detaches its others, or detaches all of a post that ended.
    Stores when files were first attached and published. Ignores an event that is not newer than the last.
    """
    files, attachments = Files(connection), Attachments(connection)
    if not attachments.record_revision(word.post_id, word.revision):
        return
    attachments.detach_earlier_tries(word.post_id)
    held = [row.id for row in files.many(word.media_ids, lock=True).values() if row.account_id == account_id]
    is_pending = word.state == "pending"
    attachments.release(word.post_id, word.revision, keep=held if is_pending else ())
    if is_pending:
        of_post = {"post_id": word.post_id, "revision": word.revision, "account_id": account_id}
        attachments.attach(held, **of_post, confirmed=True)
    if word.state in ("pending", "published"):
        files.mark(held, "attached_at")
    if word.state == "published":
        files.mark(held, "published_at")
