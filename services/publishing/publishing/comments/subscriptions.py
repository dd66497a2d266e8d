"""Subscribes linked pages to their platform's webhooks about comments, and tries again until the platform accepts.

Repeating is harmless: the platform keeps one subscription of ours for a page.
"""

from functools import partial

import structlog

from chassis.runtime.pool import Task
from contracts.platforms import DAY_SECONDS, HOUR_SECONDS
from publishing.context import AppContext
from publishing.pages.refusals import note_refusal
from publishing.platforms.base import NotConnected, PlatformRefusal, Refusal
from publishing.store.pages import Pages, Subscription

log = structlog.get_logger()

#: Longer than one call to the platform takes: connect 5 s, read 30 s.
_LEASE_SECONDS = 60.0
#: The wait after the first failure, short for one that passes soon; it doubles up to an hour.
_FIRST_WAIT_SECONDS = 5.0


def subscribe_pages(app: AppContext) -> int:
    """Claims pages and starts subscribing our app to their comments. Returns how many it claimed; 0 where no webhooks
    are configured."""
    return app.side.fill("subscriptions", partial(_claim, app)) if app.settings.hears_hooks else 0


def _claim(app: AppContext, places: int) -> list[Task]:
    with app.database.transaction() as connection:
        claimed = Pages(connection).claim_subscriptions(places, _LEASE_SECONDS)
    return [partial(subscribe, app, subscription) for subscription in claimed]


def subscribe(app: AppContext, subscription: Subscription) -> None:
    """Subscribes one page to its platform's webhooks about comments, and stores the outcome."""
    page, is_done, wait_seconds = subscription.page, False, None
    try:
        connector, account = app.connection_to(page)
        connector.subscribe(account)
        is_done = True
    except PlatformRefusal as refusal:
        note_refusal(app, page, refusal)
        wait_seconds = wait_before_try(subscription.tries, refusal)
    except NotConnected:
        wait_seconds = DAY_SECONDS
    except Exception:
        log.exception("subscribing_failed_unforeseen", page_id=page.id)
        wait_seconds = HOUR_SECONDS
    with app.database.transaction() as connection:
        Pages(connection).end_subscription(subscription, done=is_done, wait_seconds=wait_seconds)
    log.info("page_subscribed" if is_done else "page_not_subscribed", page_id=page.id)


def wait_before_try(tries: int, refusal: PlatformRefusal) -> float | None:
    """Returns the seconds until the next try to subscribe a page, after `tries` failed ones. None for an expired page,
    which is subscribed when it is linked again."""
    if refusal.kind is Refusal.EXPIRED:
        return None
    if not refusal.retryable:
        return DAY_SECONDS  # the owner may have granted the permission by then
    wait_seconds = min(_FIRST_WAIT_SECONDS * 2.0 ** min(tries - 1, 20), HOUR_SECONDS)
    return max(wait_seconds, refusal.wait_seconds or 0.0)
