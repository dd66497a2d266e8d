"""Creates, lists, edits, deletes and enables subscriptions; rotates their secrets, and encrypts the secrets with a new
key.
"""

from datetime import UTC, timedelta
from functools import partial

from chassis.cursor import decode_position, one_page
from chassis.db.operations import Operations, once
from chassis.http.addresses import UnsafeAddress, check_url
from chassis.ids import is_id, new_id
from chassis.vault import ROTATED_AT_ONCE
from contracts import webhooks as api
from contracts.caller import Caller, maker_columns
from contracts.errors import (
    BRAND_NOT_AUTHORIZED,
    LIMIT_REACHED,
    NOT_FOUND,
    TOKEN_REVOKED,
    ApiError,
    invalid,
)
from contracts.keys import KeysRotated, RotateKeys
from webhooks import security
from webhooks.context import AppContext
from webhooks.management import access
from webhooks.records import SubscriptionRow
from webhooks.store.subscriptions import Subscriptions

#: Spec "Events", Signature 4.
PREVIOUS_SECRET_LASTS = timedelta(hours=24)


def create(app: AppContext, caller: Caller, request: api.CreateSubscription) -> api.CreatedSubscription:
    """Creates a subscription, once per operation, and returns it with its signing secret.

    Raises VALIDATION_ERROR for an invalid field, NOT_FOUND for a malformed brand id, BRAND_NOT_AUTHORIZED for a brand
    that the token may not use, LIMIT_REACHED when the account has MAX_SUBSCRIPTIONS subscriptions, and TOKEN_REVOKED
    for a token that has lost access.
    """
    work = partial(_create, app, caller, request)
    return once(app.database, caller, work, partial(_created, app, caller))


def _created(app: AppContext, caller: Caller, subscription_id: str) -> api.CreatedSubscription | None:
    """Returns the answer to a repeated operation: the subscription that it created, with its secret; None if that
    subscription was deleted. Raises NOT_FOUND if the secret was replaced and no longer exists.
    """
    with app.database.reading() as connection:
        store = Subscriptions(connection)
        row = store.of_operation(caller.account_id, caller.operation_id)
        if row is None or row.id != subscription_id:
            return None
        made = store.secret_of_operation(row.id, caller.operation_id)
    if made is None:  # it was replaced, and has expired
        raise ApiError(NOT_FOUND)
    secret = app.vault.decrypt(made.secret)
    return api.CreatedSubscription.made_from(row.view(), secret=secret)


def _create(app: AppContext, caller: Caller, request: api.CreateSubscription) -> api.CreatedSubscription:
    fields = {
        "name": _name(request.name),
        "url": _url(app, caller, request.url),
        "events": list(dict.fromkeys(request.events)),
        "brand_ids": _brands(caller, request.brand_ids),
        "immediate_posts": request.immediate_posts,
        "made_within": list(caller.brand_ids or ()),
        **maker_columns(caller),
    }
    with app.database.transaction() as connection:
        store, operations = Subscriptions(connection), Operations(connection)
        operations.begin(caller)
        _lock_account(store, caller)
        if store.count(caller.account_id) >= api.MAX_SUBSCRIPTIONS:
            raise ApiError(LIMIT_REACHED, limit=api.MAX_SUBSCRIPTIONS)
        row = store.add(new_id("whk"), caller.account_id, operation_id=caller.operation_id, **fields)
        secret = security.new_secret()
        store.add_secret(new_id("sec"), row.id, caller.operation_id, app.vault.encrypt(secret))
        operations.end(caller, row.id)
    return api.CreatedSubscription.made_from(row.view(), secret=secret)


def show_list(app: AppContext, caller: Caller, request: api.ListSubscriptions) -> api.SubscriptionList:
    """Returns one page of the caller's subscriptions, newest first."""
    with app.database.reading() as connection:
        found = Subscriptions(connection).newest(
            caller.account_id,
            brand_ids=caller.brand_ids,
            status=request.status,
            before=decode_position(request.cursor),
            limit=request.limit + 1,
        )
    shown, cursor = one_page(found, request.limit)
    return api.SubscriptionList(webhooks=tuple(row.view() for row in shown), next_cursor=cursor)


def show(app: AppContext, caller: Caller, request: api.SubscriptionId) -> api.Subscription:
    """Returns one subscription. Raises NOT_FOUND for one that the caller may not see."""
    with app.database.reading() as connection:
        return access.subscription(connection, caller, request.id).view()


def edit(app: AppContext, caller: Caller, request: api.EditSubscription) -> api.Subscription:
    """Changes those fields of a subscription that are set in the request, once per operation. If there are any, the
    caller's user and token are stored as the subscription's maker.

    Raises NOT_FOUND for a subscription that the caller may not see, and the errors of `create` except LIMIT_REACHED.
    """
    return once(app.database, caller, partial(_edit, app, caller, request), partial(_changed, app, caller))


def _edit(app: AppContext, caller: Caller, request: api.EditSubscription) -> api.Subscription:
    changes: dict[str, object] = {}
    if isinstance(request.name, str):
        changes["name"] = _name(request.name)
    if isinstance(request.url, str):
        changes["url"] = _url(app, caller, request.url)
    if isinstance(request.events, tuple):
        changes["events"] = list(dict.fromkeys(request.events))
    if isinstance(request.brand_ids, tuple):
        changes["brand_ids"] = _brands(caller, request.brand_ids)
    if isinstance(request.immediate_posts, bool):
        changes["immediate_posts"] = request.immediate_posts
    with app.database.transaction() as connection:
        store, operations = Subscriptions(connection), Operations(connection)
        operations.begin(caller)
        _lock_account(store, caller)
        before = access.lock_subscription(connection, caller, request.id)
        if api.LOG_URL in (before.url, changes.get("url")) and changes.get("url", before.url) != before.url:
            raise invalid("url", "cannot change between log: and an address: create another subscription")
        if changes:
            store.change(request.id, **changes, **maker_columns(caller))
        changed = _existing(store.get(request.id)).view()
        operations.end(caller, request.id)
    return changed


def _changed(app: AppContext, caller: Caller, subscription_id: str) -> api.Subscription:
    """Returns the answer to a repeated operation: the subscription as it is now. Raises NOT_FOUND if it was deleted."""
    with app.database.transaction() as connection:
        return access.lock_subscription(connection, caller, subscription_id, by_operator=True).view()


def delete(app: AppContext, caller: Caller, request: api.SubscriptionId) -> api.SubscriptionDeleted:
    """Deletes the subscription, once per operation; its log is removed later. Raises NOT_FOUND for a subscription that
    the caller may not see.
    """
    with app.database.transaction() as connection:
        store = Subscriptions(connection)
        try:
            access.lock_subscription(connection, caller, request.id)
            store.delete(request.id, caller.operation_id)
        except ApiError:
            if store.deleted_by(caller.account_id, caller.operation_id) != request.id:
                raise
    return api.SubscriptionDeleted(success=True, id=request.id)


def enable(app: AppContext, caller: Caller, request: api.SubscriptionId) -> api.Subscription:
    """Enables the subscription and sets its count of failures to 0, once per operation. The caller's user and token are
    stored as the subscription's maker.

    The operator may enable any subscription. Raises NOT_FOUND for one that the caller may not see, and TOKEN_REVOKED
    for a token that has lost access.
    """
    return once(app.database, caller, partial(_enable, app, caller, request), partial(_changed, app, caller))


def _enable(app: AppContext, caller: Caller, request: api.SubscriptionId) -> api.Subscription:
    with app.database.transaction() as connection:
        store, operations = Subscriptions(connection), Operations(connection)
        operations.begin(caller)
        if not caller.is_operator:
            _lock_account(store, caller)
        access.lock_subscription(connection, caller, request.id, by_operator=True)
        store.enable(request.id, **maker_columns(caller))
        enabled = _existing(store.get(request.id)).view()
        operations.end(caller, request.id)
    return enabled


def rotate_secret(app: AppContext, caller: Caller, request: api.SubscriptionId) -> api.RotatedSecret:
    """Gives the subscription a new secret and returns it. The previous secret stays valid for 24 hours. A repeated
    operation returns the same secret. Raises NOT_FOUND for a subscription that the caller may not see.
    """
    with app.database.transaction() as connection:
        access.lock_subscription(connection, caller, request.id)
        store = Subscriptions(connection)
        made = store.secret_of_operation(request.id, caller.operation_id)
        if made is None:
            ends_at = store.expire_secret(request.id, PREVIOUS_SECRET_LASTS)
            secret = security.new_secret()
            store.add_secret(new_id("sec"), request.id, caller.operation_id, app.vault.encrypt(secret))
        else:
            secret, previous = app.vault.decrypt(made.secret), store.secret_before(request.id, made.id)
            if previous is None or previous.expires_at is None:  # it created the subscription
                raise ApiError(NOT_FOUND)
            ends_at = previous.expires_at
    return api.RotatedSecret(id=request.id, secret=secret, previous_secret_expires_at=ends_at.astimezone(UTC))


def _lock_account(store: Subscriptions, caller: Caller) -> None:
    """Locks the account until the transaction ends. Raises TOKEN_REVOKED if the caller's token has lost access.

    A revocation takes the same lock. So either the call commits first and the revocation disables what the call made,
    or the call sees the revocation here.
    """
    store.lock_account(caller.account_id, caller.tier)
    if store.is_revoked(caller.token_id):
        raise ApiError(TOKEN_REVOKED)


def _name(name: str) -> str:
    stripped = name.strip()
    if not stripped or "\x00" in stripped:
        raise invalid("name", "is blank or contains control characters")
    return stripped


def _url(app: AppContext, caller: Caller, url: str) -> str:
    """Returns the URL if this account may use it: `log:` (deliveries are only logged), an address in the public
    internet, or one in a private network that is allowed to the account. Raises VALIDATION_ERROR for any other.
    """
    if url == api.LOG_URL:
        return url
    try:
        check_url(url, allowed=app.settings.private_receivers.of(caller.account_id))
    except UnsafeAddress as error:
        raise invalid("url", error.reason) from None
    return url


def _brands(caller: Caller, brand_ids: tuple[str, ...]) -> list[str]:
    """Returns the brands of a subscription's events, each once. If the request names none, returns the brands of the
    token. The gateway has checked that the account has them.

    Raises BRAND_NOT_AUTHORIZED for a brand that the token may not use, and NOT_FOUND for a malformed id.
    """
    if not all(map(is_id, brand_ids)):
        raise ApiError(NOT_FOUND, field="brand_ids")
    if not all(map(caller.reaches, brand_ids)):
        raise ApiError(BRAND_NOT_AUTHORIZED)
    return list(dict.fromkeys(brand_ids or caller.brand_ids or ()))


def _existing(row: SubscriptionRow | None) -> SubscriptionRow:
    assert row is not None, "locked by this transaction"
    return row


def rotate_keys(app: AppContext, caller: Caller, request: RotateKeys) -> KeysRotated:
    """Encrypts the next few secrets with the newest key. The secrets stay the same, so receivers notice nothing."""
    caller.check_operator()
    with app.database.transaction() as connection:
        store = Subscriptions(connection)
        batch = store.stored_secrets(request.after, ROTATED_AT_ONCE)
        return app.vault.rotate_batch(batch, store.replace_secret)
