"""Pages whose platforms are asked to tell us of new comments: once when linked, again until they agree.

Asking twice does no harm: the platform keeps one subscription of ours for a page.
"""

from functools import partial

import structlog

from contracts.platforms import DAY_SECONDS, HOUR_SECONDS
from publishing.context import House
from publishing.pages.connection import connection_to
from publishing.pages.refusals import note_refusal
from publishing.platforms.base import NotConnected, PlatformRefusal, Refusal
from publishing.store.pages import Pages, Subscription
from publishing.task_pool import Task

log = structlog.get_logger()

#: Longer than one call to the platform can take: connect 5 s, read 30 s. Our choice.
_LEASE_SECONDS = 60.0
#: The wait after the first failure; doubles up to an hour. Our choice.
_FIRST_WAIT_SECONDS = 5.0


def subscribe_pages(house: House) -> int:
    """One tick: claims pages and starts asking; how many. None where no calls of platforms are expected."""
    return house.side.fill("subscriptions", partial(_claim, house)) if house.settings.hears_hooks else 0


def _claim(house: House, places: int) -> list[Task]:
    with house.database.transaction() as connection:
        claimed = Pages(connection).claim_subscriptions(places, _LEASE_SECONDS)
    return [partial(subscribe, house, subscription) for subscription in claimed]


def subscribe(house: House, subscription: Subscription) -> None:
    """Asks for one page and records the outcome."""
    page, is_done, wait_seconds = subscription.page, False, None
    try:
        connector, account = connection_to(house, page)
        connector.subscribe(account)
        is_done = True
    except PlatformRefusal as refusal:
        note_refusal(house, page, refusal)
        wait_seconds = wait_before_try(subscription.tries, refusal)
    except NotConnected:
        wait_seconds = DAY_SECONDS
    except Exception:
        log.exception("subscribing_failed_unforeseen", page_id=page.id)
        wait_seconds = HOUR_SECONDS
    with house.database.transaction() as connection:
        Pages(connection).end_subscription(subscription, done=is_done, wait_seconds=wait_seconds)
    log.info("page_subscribed" if is_done else "page_not_subscribed", page_id=page.id)


def wait_before_try(tries: int, refusal: PlatformRefusal) -> float | None:
    """Seconds until the next try; None for an expired page, which asks anew when it is linked again."""
    if refusal.kind is Refusal.EXPIRED:
        return None
    if not refusal.retryable:
        return DAY_SECONDS  # a permission may be given meanwhile
    wait_seconds = min(_FIRST_WAIT_SECONDS * 2.0 ** min(tries - 1, 20), HOUR_SECONDS)
    return max(wait_seconds, refusal.wait_seconds or 0.0)
