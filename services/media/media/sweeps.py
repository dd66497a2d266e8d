"""Clean-up: what was begun and not ended, and what is not needed any more. Every replica may run it."""

from collections.abc import Iterable
from datetime import timedelta

import structlog

from chassis import clock
from chassis.loops import wake
from media import names
from media.house import House
from media.store.attachments import Attachments
from media.store.chores import Chores
from media.store.files import Files
from media.store.removals import Removals
from media.store.uploads import Uploads

log = structlog.get_logger()

#: Publishing confirms within seconds, or died before it stored the post. Our choice.
_PROVISIONAL_LASTS = timedelta(minutes=10)
#: Spec "AI generation".
_UNUSED_LASTS = timedelta(hours=24)
#: Longer than any word about a post is under way. Our choice.
_POSTS_KEPT = timedelta(days=30)
#: An object stands without a row for moments only; this is far longer. Our choice.
_ORPHAN_AGE = timedelta(hours=1)
_BATCH = 100
_PAGE = 1000


def end_expired_uploads(house: House) -> int:
    """Reservations whose time is over; their bytes go with them."""
    with house.database.transaction() as connection:
        expired = Uploads(connection).take_expired(_BATCH)
        Removals(connection).add(expired)
    if expired:
        log.info("uploads_expired", count=len(expired))
        wake("remove_objects")
    return len(expired)


def drop_unconfirmed(house: House) -> int:
    """Attachments to posts that were never stored; and, rarely, old news of posts long gone."""
    with house.database.transaction() as connection:
        attachments = Attachments(connection)
        return attachments.drop_provisional(_PROVISIONAL_LASTS, _BATCH) + attachments.forget_posts(
            _POSTS_KEPT, _BATCH
        )


def remove_unused(house: House) -> int:
    """Generated files that no post had within a day: row and objects."""
    with house.database.transaction() as connection:
        unused = Files(connection).take_unused(_UNUSED_LASTS, _BATCH)
        Removals(connection).add(unused)
    if unused:
        log.info("unused_media_removed", count=len(unused))
        wake("remove_objects")
    return len(unused)


def remove_orphans(house: House) -> int:
    """Objects that belong to nothing: what arrived after its reservation had ended. Returns 0: one round is enough."""
    with house.database.transaction() as connection:
        if not Chores(connection).claim("orphans", timedelta(seconds=house.settings.orphan_sweep_seconds)):
            return 0
        now = clock.now(connection)
    page: list[str] = []
    for name, stored_at in house.objects.names():
        if stored_at < now - _ORPHAN_AGE:
            page.append(name)
        if len(page) == _PAGE:
            _remove_orphans_of(house, page)
            page.clear()
    _remove_orphans_of(house, page)
    return 0


def _remove_orphans_of(house: House, object_names: Iterable[str]) -> None:
    """What lies elsewhere than we put things is not ours to remove."""
    keys = {name.partition("/")[0] for name in object_names}
    with house.database.reading() as connection:
        orphans = Removals(connection).unknown_keys([key for key in keys if names.is_key(key)])
    for key in orphans:
        house.objects.remove_key(key)
    if orphans:
        log.info("orphans_removed", count=len(orphans))
