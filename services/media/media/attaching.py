"""Which posts have which media: said provisionally before a post is stored, for good by the event `post.media`."""

from datetime import datetime

from contracts.caller import Caller
from contracts.events import PostMedia
from contracts.media import AttachedMedia, AttachMedia, DetachMedia
from contracts.record import Nothing
from media.house import House, reachable
from media.store import Connection
from media.store.attachments import Attachments
from media.store.files import Files


def attach(house: House, caller: Caller, request: AttachMedia) -> AttachedMedia:
    """Hold the files for a post about to be stored; nobody deletes one meanwhile.

    What the post had before stays until the event says otherwise: the caller may die before it stores the change.
    Raises NOT_FOUND with field media_ids.
    """
    with house.database.transaction() as connection:
        files, attachments = Files(connection), Attachments(connection)
        found = files.many(request.media_ids, lock=True)
        for media_id in request.media_ids:
            reachable(caller, found.get(media_id), "media_ids")
        attachments.detach_others(request.post_id, request.media_ids, confirmed=False)
        attachments.attach(
            caller.account_id,
            request.post_id,
            found,
            confirmed=False,
            operation_id=caller.operation_id,
        )
        found = files.many(request.media_ids)
    return AttachedMedia(media=tuple(house.view(found[media_id]) for media_id in request.media_ids))


def detach(house: House, request: DetachMedia) -> Nothing:
    """At once; the post's own word comes later, and those it said before may still be on their way."""
    with house.database.transaction() as connection:
        attachments = Attachments(connection)
        if request.revision:
            attachments.detach_earlier_tries(request.post_id)
        if request.revision > 1:
            attachments.is_news(request.post_id, request.revision - 1)
        attachments.detach(request.post_id)
    return Nothing()


def on_post_media(connection: Connection, account_id: str, word: PostMedia, at: datetime) -> None:
    """The post's own word, said `at` then; an older word that comes late changes nothing."""
    files, attachments = Files(connection), Attachments(connection)
    if not attachments.is_news(word.post_id, word.revision):
        return
    attachments.detach_earlier_tries(word.post_id)
    held = [row.id for row in files.many(word.media_ids, lock=True).values() if row.account_id == account_id]
    if word.state == "pending":
        attachments.detach_others(word.post_id, held, confirmed=True)
        attachments.attach(account_id, word.post_id, held, confirmed=True)
        files.mark_attached(held)
        return
    # What was attached after this word was said belongs to a later one.
    attachments.detach(word.post_id, until=at)
    if word.state == "published":
        files.mark_attached(held)
        files.mark_published(held)
