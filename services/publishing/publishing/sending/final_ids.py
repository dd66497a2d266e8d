"""Posts that are out and whose platform names them only later (TikTok: once it has looked them over).

The wait is written before the post is recorded as published; each look is claim → call → record, and reads only.
"""

from functools import partial

import structlog

from chassis.telemetry import tracing
from contracts.platforms import DAY_SECONDS
from publishing.config import LONGEST_CALL_SECONDS
from publishing.context import House
from publishing.pages.connection import connection_to
from publishing.platforms.base import NotConnected, PlatformRefusal
from publishing.records import PageRow
from publishing.store.final_ids import Awaited, Names
from publishing.store.pages import Pages
from publishing.task_pool import Task

log = structlog.get_logger()

#: Between two looks: as long again as the post has waited, within these. Our choice.
_SHORTEST_SECONDS, _LONGEST_SECONDS = 30.0, 3_600.0
#: A post that has no name by then keeps the one it has. Our choice.
_GIVE_UP_SECONDS = float(DAY_SECONDS)
#: Longer than one call. Our choice.
_LEASE_SECONDS = LONGEST_CALL_SECONDS + 20.0


def name_posts(house: House) -> int:
    """One tick: claims posts without a name and starts asking for it; how many."""
    return house.side.fill("names", partial(_claim, house))


def _claim(house: House, places: int) -> list[Task]:
    with house.database.transaction() as connection:
        claimed = Names(connection).claim(places, _LEASE_SECONDS)
        pages = Pages(connection).many([awaited.post.page_id for awaited in claimed])
    return [partial(run, house, pages[awaited.post.page_id], awaited) for awaited in claimed]


def run(house: House, page: PageRow, awaited: Awaited) -> None:
    """One look at one post."""
    post = awaited.post
    found = None
    # Written before its post was recorded, which may have come to nothing after all.
    is_over = awaited.awaited_seconds >= _GIVE_UP_SECONDS or post.state in ("failed", "cancelled")
    if post.state == "published" and post.remote_id:
        try:
            connector, account = connection_to(house, page)
            with tracing.working(
                "name post", post.traceparent, "publishing", post.account_id, post_id=post.id
            ):
                found = connector.named(account, post.remote_id)
        except (PlatformRefusal, NotConnected) as error:
            log.warning("name_not_told", post_id=post.id, reason=str(error))
        except Exception:
            log.exception("name_failed_unforeseen", post_id=post.id)
    with house.database.transaction() as connection:
        names = Names(connection)
        if found is not None:
            names.name(post, found.remote_id, found.permalink)
        if found is not None or is_over:
            names.end(post.id)
        else:
            names.put_off(post.id, wait_before_look(awaited.awaited_seconds))
    log.info("name_looked_up", post_id=post.id, found=found is not None)


def wait_before_look(awaited_seconds: float) -> float:
    """Seconds until a post that has waited so long is looked at again."""
    return min(max(_SHORTEST_SECONDS, awaited_seconds), _LONGEST_SECONDS)
