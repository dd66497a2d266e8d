"""Steps that several use cases share: finding an account or a brand, and announcing its changes."""

from accounts import fields
from accounts.store import Connection
from accounts.store.brands import BrandStore
from accounts.store.users import UserStore
from chassis.bus import outbox
from contracts.accounts import Brand, BrandOwner, User
from contracts.caller import Caller
from contracts.errors import COLLABORATOR_INSUFFICIENT, EMAIL_NOT_VERIFIED, ApiError
from contracts.events import AccessRevoked, AccountChanged, BrandRenamed, CallerChanged


def account(connection: Connection, user_id: str) -> User:
    """Returns the account with the id `user_id`. Raises NOT_FOUND, naming the field `user_id`, if there is none."""
    return _found(UserStore(connection).find(fields.known_id(user_id, field="user_id")))


def lock_account(connection: Connection, user_id: str) -> User:
    """Returns the account with the id `user_id` and locks its row until commit. Raises NOT_FOUND, naming the field
    `user_id`, if there is none.
    """
    return _found(UserStore(connection).lock(fields.known_id(user_id, field="user_id")))


def check_verified(user: User) -> User:
    """Returns the user. Raises EMAIL_NOT_VERIFIED if the account is not verified (docs/decisions.md, "Verified
    accounts").
    """
    if not user.verified:
        raise ApiError(EMAIL_NOT_VERIFIED)
    return user


def check_owner(caller: Caller) -> None:
    """Raises COLLABORATOR_INSUFFICIENT unless the caller is the account's owner. A collaborator may not manage the
    account.
    """
    if caller.user_id != caller.account_id:
        raise ApiError(COLLABORATOR_INSUFFICIENT)


def _found(user: User | None) -> User:
    if user is None:
        raise fields.not_found("user_id")
    return user


def brand(connection: Connection, brand_id: str, *, field: str | None = "brand_id") -> BrandOwner:
    """Returns a brand of any account, and its owner. Raises NOT_FOUND, naming `field`, if there is none."""
    found = BrandStore(connection).find(fields.known_id(brand_id, field=field))
    if found is None:
        raise fields.not_found(field)
    return found


def own_brand(connection: Connection, caller: Caller, brand_id: str) -> Brand:
    """Returns a brand that the caller owns. Raises COLLABORATOR_INSUFFICIENT if the caller is a collaborator. Raises
    NOT_FOUND if the brand belongs to another account or does not exist.
    """
    check_owner(caller)
    found = brand(connection, brand_id, field=None)
    caller.check_reach(found.account_id, found.brand.id)
    return found.brand


def announce_caller_changed(
    connection: Connection, account_id: str, *, token_ids: tuple[str, ...] = ()
) -> None:
    """Sends an event that makes the gateways drop what they have cached about tokens: those in `token_ids` or, if that
    is empty, all of the account. At the next request with such a token they ask this service again.
    """
    changed = CallerChanged(token_ids=token_ids) if token_ids else CallerChanged(account_ids=(account_id,))
    outbox.stage(connection, "caller.changed", changed, account_id=account_id)


def announce_access_revoked(connection: Connection, account_id: str, revoked: AccessRevoked) -> None:
    """Announces, with an event, that a person or token has lost access. The service `publishing` then holds the queued
    posts that this person or token made, and the service `webhooks` disables the subscriptions that they made.
    """
    outbox.stage(connection, "access.revoked", revoked, account_id=account_id)


def announce_account_changed(connection: Connection, user: User) -> None:
    """Announces, with an event, the tier that an account has now. Services that keep a copy of the tier store it."""
    changed = AccountChanged(account_id=user.id, tier=user.tier)
    outbox.stage(connection, "account.changed", changed, account_id=user.id)


def announce_brand_renamed(connection: Connection, account_id: str, brand: Brand) -> None:
    """Announces, with an event, the name that a brand has now. The service `publishing` stores it with the brand's
    pages.
    """
    renamed = BrandRenamed(brand_id=brand.id, name=brand.name)
    outbox.stage(connection, "brand.renamed", renamed, account_id=account_id, brand_id=brand.id)
