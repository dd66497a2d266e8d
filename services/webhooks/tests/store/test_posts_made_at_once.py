"""Which subscriptions get the outcomes of posts that were published at once."""

from typing import Any

import pytest
from msgspec import UNSET

from contracts import webhooks as api
from webhooks.management import subscriptions

EVERYWHERE = "http://93.184.216.34/"


def received(desk: Any, subscription_id: str) -> int:
    return len(desk.log(subscription_id))


@pytest.mark.parametrize(
    ("audience", "plain", "immediate"), [("", 1, 1), ("immediate", 0, 1), ("others", 1, 0)]
)
def test_an_event_goes_to_its_audience(desk: Any, audience: str, plain: int, immediate: int) -> None:
    first = desk.subscribe(EVERYWHERE)
    second = desk.subscribe(EVERYWHERE, immediate_posts=True)
    desk.arrive(audience=audience)
    assert (received(desk, first.id), received(desk, second.id)) == (plain, immediate)


def test_it_is_off_by_default_and_can_be_changed(desk: Any) -> None:
    made = desk.subscribe(EVERYWHERE)
    assert made.immediate_posts is False

    def change(**fields: object) -> api.Subscription:
        return subscriptions.edit(desk.app, desk.caller(), api.EditSubscription(id=made.id, **fields))

    assert change(immediate_posts=True).immediate_posts is True
    assert change(name="other", immediate_posts=UNSET).immediate_posts is True
    desk.arrive(audience="immediate")
    assert change(immediate_posts=False).immediate_posts is False
    desk.arrive(audience="immediate")
    assert received(desk, made.id) == 1
