"""Clean-up of unfinished uploads, unused files and orphaned objects. Every replica may run it."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta

import structlog

from chassis.db import clock
from media import names
from media.cleanup.removals import REMOVALS_DUE
from media.context import AppContext
from media.models import Stored
from media.store import Connection
from media.store.attachments import Attachments
from media.store.chores import Chores
from media.store.files import Files
from media.store.removals import Removals
from media.store.uploads import Uploads

log = structlog.get_logger()

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
_ORPHANS = "orphans"
_BATCH = 100
#: Object names per listing page, and pages per tick: a tick takes seconds. Our choice.
_PAGE, _PAGES = 1000, 50


def end_expired_uploads(context: AppContext) -> int:
    """Ends uploads that have expired. Their bytes are removed in the background. Returns how many uploads it ended."""
    return _remove(context, "uploads_expired", lambda it: Uploads(it).take_expired(_BATCH))


def remove_unused(context: AppContext) -> int:
    """Removes generated files that no post used within a day. Returns how many files it removed."""
    return _remove(context, "unused_media_removed", lambda it: Files(it).take_unused(_KEEP_UNUSED, _BATCH))


def _remove(context: AppContext, event: str, take: Callable[[Connection], Sequence[Stored]]) -> int:
    """Deletes the rows that `take` selects, and adds their objects to the list of removals. Returns how many rows it
    deleted.
    """
    with context.database.transaction() as connection:
        taken = take(connection)
        Removals(connection).add(taken)
    if taken:
        log.info(event, count=len(taken))
        REMOVALS_DUE.wake()
    return len(taken)


def drop_unconfirmed(context: AppContext) -> int:
    """Deletes attachments to posts that were never stored, and rows about posts and deletions that are too old to be
    needed.

    Returns how many rows were deleted or examined.
    """
    with context.database.transaction() as connection:
        dropped = Attachments(connection).drop_provisional(_KEEP_PROVISIONAL, _BATCH)
    with context.database.transaction() as connection:
        dropped += Attachments(connection).forget_posts(_KEEP_POSTS, _BATCH)
    with context.database.transaction() as connection:
        return dropped + Files(connection).forget_deleted(_KEEP_DELETIONS, _BATCH)


def remove_orphans(context: AppContext) -> int:
    """Searches the storage for objects that belong to no row, such as bytes that arrived after their upload had ended,
    and deletes them.

    Does nothing unless the search is due. The position in the list of objects is saved after each page, so that an
    interrupted run loses nothing. Returns 1 if it stopped before the end of the list, else 0.
    """
    with context.database.transaction() as connection:
        chores = Chores(connection)
        if not chores.claim(_ORPHANS, timedelta(seconds=context.settings.orphan_sweep_seconds)):
            return 0
        after, now = chores.position(_ORPHANS), clock.now(connection)
    found = context.bucket.names(after)
    for number in range(1, _PAGES + 1):
        page = list(itertools.islice(found, _PAGE))
        _remove_orphans_of(context, [name for name, stored_at in page if stored_at < now - _ORPHAN_AGE])
        is_last = len(page) < _PAGE
        is_due = number == _PAGES and not is_last
        with context.database.transaction() as connection:
            Chores(connection).note(_ORPHANS, None if is_last else page[-1][0], is_due=is_due)
        if is_last:
            return 0
    return 1


def _remove_orphans_of(context: AppContext, object_names: Iterable[str]) -> None:
    """Deletes those of these objects that belong to no row. Objects whose names are not in our format stay."""
    keys = {name.partition("/")[0] for name in object_names}
    with context.database.reading() as connection:
        orphans = Removals(connection).orphan_keys([key for key in keys if names.is_key(key)])
    for key in orphans:
        context.bucket.remove_key(key)
    if orphans:
        log.info("orphans_removed", count=len(orphans))
