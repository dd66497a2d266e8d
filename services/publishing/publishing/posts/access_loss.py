"""Holds the queued posts of users and tokens that lost access, and tells the account's owner (event posts.held)."""

import msgspec
import structlog

from contracts.events import AccessRevoked, Event
from publishing import post_events
from publishing.context import AppContext
from publishing.store import Connection
from publishing.store.holds import Holds

log = structlog.get_logger()

#: Posts held in one transaction and named by its events: 200 ids keep an event far below the 256 KiB of a message.
_AT_ONCE = 200
#: The shortest and the longest wait before the posts of a maker are looked for again: some were locked, or a call in
#: progress may still queue one.
_SOONEST_SECONDS, _LATEST_SECONDS = 1.0, 60.0


def on_access_revoked(connection: Connection, event: Event) -> None:
    """Handles the event access.revoked: stores the user and tokens that lost access. `hold_posts` then holds the posts
    made with them."""
    Holds(connection).add(event.id, event.account_id, msgspec.convert(event.data, AccessRevoked))


def hold_posts(app: AppContext) -> int:
    """Holds posts of one maker (a user or token) who lost access. Returns 1, or 0 when no maker is due.

    Each maker is due repeatedly, because calls that were in progress when access was lost may still queue posts.
    """
    with app.database.transaction() as connection:
        holds = Holds(connection)
        hold = holds.next()
        if hold is None:
            return 0
        found = holds.hold(hold, _AT_ONCE)
        held = [post for post in found if post.state == "held"]
        post_events.stage_held(connection, held)
        if len(found) == _AT_ONCE:
            pass  # there are more: due again at once
        elif hold.is_over:
            holds.end(hold)
        else:
            holds.look_later(hold, min(max(hold.age_seconds / 4, _SOONEST_SECONDS), _LATEST_SECONDS))
    if held:
        log.info("posts_held", account_id=hold.account_id, reason=hold.reason, posts=len(held))
    return 1
