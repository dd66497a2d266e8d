"""Asks for the final ids of published posts whose platform gives them later (TikTok: after moderation).

Before such a post is recorded as published, a row is stored that says that its id is missing. A look-up is claimed
before the platform is called, and only reads.
"""

from functools import partial

import structlog

from chassis.runtime.pool import Task
from chassis.telemetry import tracing
from contracts.platforms import DAY_SECONDS
from publishing.config import LONGEST_CALL_SECONDS
from publishing.context import AppContext
from publishing.platforms.base import NotConnected, PlatformRefusal
from publishing.records import PageRow
from publishing.store.final_ids import AwaitedId, FinalIds
from publishing.store.pages import Pages

log = structlog.get_logger()

#: The interval between look-ups doubles with the age of the wait, within these limits: moderation may take seconds or
#: hours.
_SHORTEST_SECONDS, _LONGEST_SECONDS = 30.0, 3_600.0
#: After a day without a final id the post keeps its provisional one, as posts that stay private never get another.
_GIVE_UP_SECONDS = float(DAY_SECONDS)
#: The one call of a look-up, and 20 s for the database.
_LEASE_SECONDS = LONGEST_CALL_SECONDS + 20.0


def name_posts(app: AppContext) -> int:
    """Claims published posts that lack their final id and starts asking for it. Returns how many it claimed."""
    return app.side.fill("final ids", partial(_claim, app))


def _claim(app: AppContext, places: int) -> list[Task]:
    with app.database.transaction() as connection:
        claimed = FinalIds(connection).claim(places, _LEASE_SECONDS)
        pages = Pages(connection).many([awaited.post.page_id for awaited in claimed])
    return [partial(run, app, pages[awaited.post.page_id], awaited) for awaited in claimed]


def run(app: AppContext, page: PageRow, awaited: AwaitedId) -> None:
    """Asks the platform for the final id of one post."""
    post = awaited.post
    found = None
    # The wait is stored before its post was recorded as published; the post may have failed after all.
    is_over = awaited.awaited_seconds >= _GIVE_UP_SECONDS or post.state in ("failed", "cancelled")
    if post.state == "published" and post.remote_id:
        try:
            connector, account = app.connection_to(page)
            with tracing.working(
                "name post", post.traceparent, "publishing", post.account_id, post_id=post.id
            ):
                found = connector.named(account, post.remote_id)
        except (PlatformRefusal, NotConnected) as error:
            log.warning("name_not_told", post_id=post.id, reason=str(error))
        except Exception:
            log.exception("name_failed_unforeseen", post_id=post.id)
    with app.database.transaction() as connection:
        ids = FinalIds(connection)
        if found is not None:
            ids.save(post, found.remote_id, found.permalink)
        if found is not None or is_over:
            ids.end(post.id)
        else:
            ids.put_off(post.id, wait_before_look(awaited.awaited_seconds))
    log.info("name_looked_up", post_id=post.id, found=found is not None)


def wait_before_look(awaited_seconds: float) -> float:
    """Returns the seconds until the platform is asked again for the final id of a published post.

    `awaited_seconds`: how long the post has had no final id.
    """
    return min(max(_SHORTEST_SECONDS, awaited_seconds), _LONGEST_SECONDS)
