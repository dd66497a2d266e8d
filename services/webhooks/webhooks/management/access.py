"""Decides which callers may see and change a subscription (docs/decisions.md, "Who sees and pays what")."""

from chassis.ids import is_id
from contracts.caller import Caller
from contracts.errors import NOT_FOUND, ApiError
from webhooks.records import SubscriptionRow
from webhooks.store import Connection
from webhooks.store.subscriptions import Subscriptions


def subscription(connection: Connection, caller: Caller, subscription_id: str) -> SubscriptionRow:
    """Returns a subscription that the caller may see. Raises NOT_FOUND for any other."""
    return _reached(caller, Subscriptions(connection).get(_known(subscription_id)))


def lock_subscription(
    connection: Connection, caller: Caller, subscription_id: str, *, by_operator: bool = False
) -> SubscriptionRow:
    """Returns a subscription that the caller may change, and locks it until the transaction ends. Raises NOT_FOUND for
    any other.

    With `by_operator` the operator may change the subscriptions of every account.
    """
    row = Subscriptions(connection).lock(_known(subscription_id))
    if row is not None and by_operator and caller.is_operator:
        return row
    return _reached(caller, row)


def _known(subscription_id: str) -> str:
    if not is_id(subscription_id):
        raise ApiError(NOT_FOUND)
    return subscription_id


def _reached(caller: Caller, row: SubscriptionRow | None) -> SubscriptionRow:
    if row is None or row.account_id != caller.account_id or not _lies_within(caller, row):
        raise ApiError(NOT_FOUND)
    return row


def _lies_within(caller: Caller, row: SubscriptionRow) -> bool:
    """Whether the caller's token may use all brands of the token that made the subscription, and all brands whose
    events the subscription gets. The two sets of brands may differ.
    """
    if caller.brand_ids is None:
        return True
    made_within = row.brand_ids if row.made_within is None else row.made_within
    return all(brands and set(brands) <= set(caller.brand_ids) for brands in (made_within, row.brand_ids))
