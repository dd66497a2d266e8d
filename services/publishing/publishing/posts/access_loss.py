"""A maker who lost access: the posts that are queued are held, and the account is told."""

import msgspec
import structlog

from contracts.events import AccessRevoked, Event
from publishing import post_events
from publishing.context import House
from publishing.store import Connection
from publishing.store.holds import Holds

log = structlog.get_logger()

#: Posts held in one transaction, and named by one event. Our choice.
_AT_ONCE = 200
#: A post that was locked, or that a call on its way queues, is found this soon at first, then ever later. Our choice.
_SOONEST_SECONDS, _LATEST_SECONDS = 1.0, 60.0


def on_access_revoked(connection: Connection, event: Event) -> None:
    """Has `hold_posts` look for the posts of the maker."""
    Holds(connection).add(event.id, event.account_id, msgspec.convert(event.data, AccessRevoked))


def hold_posts(house: House) -> int:
    """Holds posts of one maker who lost access; 0 when there is none to be looked for now.

    Looks again until no call that was on its way at the removal can queue a post any more.
    """
    with house.database.transaction() as connection:
        holds = Holds(connection)
        hold = holds.next()
        if hold is None:
            return 0
        found = holds.hold(hold, _AT_ONCE)
        held = [post for post in found if post.state == "held"]
        post_events.tell_held(connection, held)
        if len(found) == _AT_ONCE:
            pass  # there are more: at once
        elif hold.is_over:
            holds.end(hold)
        else:
            holds.look_later(hold, min(max(hold.age_seconds / 4, _SOONEST_SECONDS), _LATEST_SECONDS))
    if held:
        log.info("posts_held", account_id=hold.account_id, reason=hold.reason, posts=len(held))
    return 1
