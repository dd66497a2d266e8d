"""Background clean-up: deletes what is unfinished or not needed any more, in the database and in the storage."""

import itertools
from collections.abc import Callable, Sequence
from datetime import timedelta

import structlog

from chassis.db import clock
from chassis.runtime.loops import Waker
from contracts.errors import ApiError
from media import names
from media.context import AppContext
from media.models import Removal, Stored, Upload
from media.store import Connection
from media.store.attachments import Attachments
from media.store.files import Files
from media.store.removals import Removals
from media.store.uploads import Uploads

log = structlog.get_logger()

#: Between tries to delete objects: 30 s, doubled each time, at most an hour. Our choice.
_FIRST_WAIT, _LONGEST_WAIT = timedelta(seconds=30), timedelta(hours=1)
#: Longer than an outage of publishing or the broker, which delays the event of a stored post. Our choice.
_KEEP_PROVISIONAL = timedelta(hours=24)
#: Spec "AI generation".
_KEEP_UNUSED = timedelta(hours=24)
#: Longer than any event about a post is delayed. Our choice.
_KEEP_POSTS = timedelta(days=30)
#: Longer than the gateway keeps an idempotency key. Our choice.
_KEEP_DELETIONS = timedelta(hours=48)
#: An object exists without a row for moments only; this is far longer. Our choice.
_ORPHAN_AGE = timedelta(hours=1)
_REMOVALS, _ROWS = 50, 100
#: Object names that one run of `remove_orphans` lists: one page of the storage's listing.
_PAGE = 1000
REMOVALS_DUE = Waker()


def remove_now(context: AppContext, ended: Upload | Removal) -> bool:
    """Deletes all objects of an ended file, and its multipart upload, then its removal. Returns False in an outage."""
    try:
        if ended.parts_id is not None:
            context.bucket.abort_parts(f"{ended.key}/{ended.slug}", ended.parts_id)
        context.bucket.remove_key(ended.key)
    except ApiError:
        return False
    with context.database.transaction() as connection:
        Removals(connection).done(ended.key)
    return True


def remove_due(context: AppContext) -> int:
    """Deletes the objects of a batch of removals that are due. Returns how many of these removals are done."""
    with context.database.transaction() as connection:
        due = Removals(connection).claim(_REMOVALS, _FIRST_WAIT, _LONGEST_WAIT)
    gone = sum(remove_now(context, it) for it in due)
    if gone < len(due):
        log.warning("removals_postponed", count=len(due) - gone)
    return gone


def end_expired_uploads(context: AppContext) -> int:
    """Ends uploads that have expired, and lists their objects for removal. Returns how many uploads it ended."""
    return _remove(context, "uploads_expired", lambda it: Uploads(it).take_expired(_ROWS))


def remove_unused(context: AppContext) -> int:
    """Removes generated files that no post used within a day. Returns how many files it removed."""
    return _remove(context, "unused_media_removed", lambda it: Files(it).take_unused(_KEEP_UNUSED, _ROWS))


def _remove(context: AppContext, event: str, take: Callable[[Connection], Sequence[Stored]]) -> int:
    """Calls `take` to delete rows, and adds removals of these rows' objects. Returns how many rows there were."""
    with context.database.transaction() as connection:
        taken = take(connection)
        Removals(connection).add(taken)
    if taken:
        log.info(event, count=len(taken))
        REMOVALS_DUE.wake()
    return len(taken)


def drop_unconfirmed(context: AppContext) -> int:
    """Deletes old rows of unconfirmed attachments, of posts and of deletions. Returns 0 if there were none."""
    with context.database.transaction() as connection:
        attachments = Attachments(connection)
        dropped = attachments.drop_provisional(_KEEP_PROVISIONAL, _ROWS)
        dropped += attachments.forget_posts(_KEEP_POSTS, _ROWS)
        return dropped + Files(connection).forget_deleted(_KEEP_DELETIONS, _ROWS)


def remove_orphans(context: AppContext) -> int:
    """If the search is due, reads the next page of the bucket's list and deletes its objects that belong to no row.
    Objects whose names are not in our format stay. Returns 1 if the list has more pages, else 0.
    """
    with context.database.transaction() as connection:
        every = timedelta(seconds=context.settings.orphan_sweep_seconds)
        is_claimed, after = Removals(connection).claim_search(every)
        if not is_claimed:
            return 0
        now = clock.now(connection)
    page = list(itertools.islice(context.bucket.names(after), _PAGE))
    keys = {name.partition("/")[0] for name, stored_at in page if stored_at < now - _ORPHAN_AGE}
    with context.database.reading() as connection:
        orphans = Removals(connection).orphan_keys([key for key in keys if names.is_key(key)])
    for key in orphans:
        context.bucket.remove_key(key)
    if orphans:
        log.info("orphans_removed", count=len(orphans))
    is_last = len(page) < _PAGE
    with context.database.transaction() as connection:
        Removals(connection).note_search(None if is_last else page[-1][0])
    return 0 if is_last else 1
