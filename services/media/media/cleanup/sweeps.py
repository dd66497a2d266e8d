"""Clean-up: what was begun and not ended, and what is not needed any more. Every replica may run it."""

import itertools
from collections.abc import Iterable
from datetime import timedelta

import structlog

from chassis.db import clock
from chassis.runtime.loops import wake
from media import names
from media.context import AppContext
from media.store.attachments import Attachments
from media.store.chores import Chores
from media.store.files import Files
from media.store.removals import Removals
from media.store.uploads import Uploads

log = structlog.get_logger()

#: Longer than publishing or the broker is away, and the word of a post that is stored with them. Our choice.
_PROVISIONAL_LASTS = timedelta(hours=24)
#: Spec "AI generation".
_UNUSED_LASTS = timedelta(hours=24)
#: Longer than any word about a post is under way. Our choice.
_POSTS_KEPT = timedelta(days=30)
#: Longer than the gateway keeps a key. Our choice.
_DELETIONS_KEPT = timedelta(hours=48)
#: An object stands without a row for moments only; this is far longer. Our choice.
_ORPHAN_AGE = timedelta(hours=1)
_ORPHANS = "orphans"
_BATCH = 100
#: Names at once, as the storage lists them; and how many times in one tick, which takes seconds then. Our choice.
_PAGE, _PAGES = 1000, 50


def end_expired_uploads(context: AppContext) -> int:
    """Reservations whose time is over; their bytes go with them."""
    with context.database.transaction() as connection:
        expired = Uploads(connection).take_expired(_BATCH)
        Removals(connection).add(expired)
    if expired:
        log.info("uploads_expired", count=len(expired))
        wake("remove_objects")
    return len(expired)


def drop_unconfirmed(context: AppContext) -> int:
    """Attachments to posts that were never stored; and, rarely, old news of what is long gone."""
    with context.database.transaction() as connection:
        dropped = Attachments(connection).drop_provisional(_PROVISIONAL_LASTS, _BATCH)
    with context.database.transaction() as connection:
        dropped += Attachments(connection).forget_posts(_POSTS_KEPT, _BATCH)
    with context.database.transaction() as connection:
        return dropped + Files(connection).forget_deleted(_DELETIONS_KEPT, _BATCH)


def remove_unused(context: AppContext) -> int:
    """Generated files that no post had within a day: row and objects."""
    with context.database.transaction() as connection:
        unused = Files(connection).take_unused(_UNUSED_LASTS, _BATCH)
        Removals(connection).add(unused)
    if unused:
        log.info("unused_media_removed", count=len(unused))
        wake("remove_objects")
    return len(unused)


def remove_orphans(context: AppContext) -> int:
    """Objects that belong to nothing: what arrived after its reservation had ended.

    How far it has come is noted page by page, so that a tick that is cut off is no loss. 1: there is more.
    """
    with context.database.transaction() as connection:
        chores = Chores(connection)
        if not chores.claim(_ORPHANS, timedelta(seconds=context.settings.orphan_sweep_seconds)):
            return 0
        after, now = chores.position(_ORPHANS), clock.now(connection)
    found = context.objects.names(after)
    for _ in range(_PAGES):
        page = list(itertools.islice(found, _PAGE))
        _remove_orphans_of(context, [name for name, stored_at in page if stored_at < now - _ORPHAN_AGE])
        is_last = len(page) < _PAGE
        with context.database.transaction() as connection:
            Chores(connection).note(_ORPHANS, None if is_last else page[-1][0])
        if is_last:
            return 0
    with context.database.transaction() as connection:
        Chores(connection).go_on(_ORPHANS)
    return 1


def _remove_orphans_of(context: AppContext, object_names: Iterable[str]) -> None:
    """What lies elsewhere than we put things is not ours to remove."""
    keys = {name.partition("/")[0] for name in object_names}
    with context.database.reading() as connection:
        orphans = Removals(connection).unknown_keys([key for key in keys if names.is_key(key)])
    for key in orphans:
        context.objects.remove_key(key)
    if orphans:
        log.info("orphans_removed", count=len(orphans))
