"""Brands: their owner and the operator create and change them; callers read the brands within their reach."""

from typing import Any

from msgspec import UNSET

from accounts import access, fields
from accounts.store import Connection
from accounts.store.brands import BrandStore
from chassis.cursor import decode_position, one_page
from chassis.db.database import Database
from chassis.db.operations import Operations, once
from chassis.ids import new_id
from contracts.accounts import Brand, BrandList, BrandOwner, CreateBrand, EditBrand, GetBrand, ListBrands
from contracts.caller import Caller
from contracts.errors import IDEMPOTENCY_KEY_MISMATCH, LIMIT_REACHED, MISSING_FIELD, ApiError

#: Of one account, archived ones included; the operator may create more. More than an agency has customers. Our choice.
MAX_BRANDS = 1_000
_EDITABLE = ("name", "timezone", "description", "logo", "image_guidelines", "caption_guidelines")


def create_brand(connection: Connection, caller: Caller, request: CreateBrand) -> Brand:
    """Creates a brand.

    Raises NOT_FOUND for an unknown user, EMAIL_NOT_VERIFIED for an unverified one, VALIDATION_ERROR for an invalid
    field, and IDEMPOTENCY_KEY_MISMATCH if an earlier try of this operation has created a brand for another account.
    Raises LIMIT_REACHED when the account has MAX_BRANDS brands, except for the operator.
    """
    if not caller.is_operator:
        access.check_owner(caller)
    values = {name: _checked(name, getattr(request, name)) for name in _EDITABLE}
    account_id = request.user_id if caller.is_operator else caller.account_id
    account = access.check_verified(access.lock_account(connection, account_id))
    store = BrandStore(connection)
    is_repeat = caller.operation_id is not None and store.find_by_operation(caller.operation_id) is not None
    if not (caller.is_operator or is_repeat) and store.count(account.id) >= MAX_BRANDS:
        raise ApiError(LIMIT_REACHED, limit=MAX_BRANDS)
    made = store.add(id=new_id("brd"), account_id=account.id, operation_id=caller.operation_id, **values)
    if made is None and caller.operation_id:  # the same operation ran before
        made = store.find_by_operation(caller.operation_id)
    assert made is not None, "only the operation id can conflict"
    if made.account_id != account.id:
        raise ApiError(IDEMPOTENCY_KEY_MISMATCH)
    return made.brand


def edit_brand(database: Database, caller: Caller, request: EditBrand) -> Brand:
    """Changes those fields of a brand that the request sets, once per operation. Raises NOT_FOUND for an unknown brand
    and VALIDATION_ERROR for an invalid field.
    """

    def edit() -> Brand:
        with database.transaction() as connection:
            operations = Operations(connection)
            operations.begin(caller)
            access.lock_account(connection, caller.account_id)
            old = access.own_brand(connection, caller, request.brand_id)
            archived = old.archived_at is not None if request.archived is UNSET else request.archived
            edited = BrandStore(connection).edit(old.id, archived=archived, **_edits(old, request))
            if request.name is not UNSET:  # also the same name: that mends what is stored with the pages
                access.announce_brand_renamed(connection, caller.account_id, edited)
            operations.end(caller, old.id)
        return edited

    def again(brand_id: str) -> Brand:
        with database.reading() as connection:
            return access.own_brand(connection, caller, brand_id)

    return once(database, caller, edit, again)


def list_brands(connection: Connection, caller: Caller, request: ListBrands) -> BrandList:
    """Returns one page of the brands that the caller may access, newest first. The operator gets the brands of the
    account that the request names.
    """
    limit = fields.limit(request.limit)
    found = BrandStore(connection).list_newest_first(
        _account_of(connection, caller, request),
        caller.brand_ids,
        archived=request.archived or caller.is_operator,
        limit=limit + 1,
        before=decode_position(request.cursor),
    )
    brands, cursor = one_page(found, limit)
    return BrandList(brands=brands, next_cursor=cursor)


def _account_of(connection: Connection, caller: Caller, request: ListBrands) -> str:
    if not caller.is_operator:
        return caller.account_id
    if request.user_id is None:
        raise ApiError(MISSING_FIELD, field="user_id")
    return access.account(connection, request.user_id).id


def get_brand(connection: Connection, caller: Caller, request: GetBrand) -> Brand:
    """Returns a brand. The operator gets every brand.

    For everybody else raises NOT_FOUND if the brand belongs to another account, and BRAND_NOT_AUTHORIZED if it belongs
    to the caller's account but the token may not use it.
    """
    found = access.brand(connection, request.brand_id, field=request.field)
    if not caller.is_operator:
        caller.check_reach(found.account_id, found.brand.id, field=request.field)
    return found.brand


def get_brand_owner(connection: Connection, caller: Caller, request: GetBrand) -> BrandOwner:
    caller.check_operator()
    return access.brand(connection, request.brand_id, field=request.field)


def _edits(old: Brand, request: EditBrand) -> dict[str, Any]:
    values = {name: getattr(request, name) for name in _EDITABLE}
    return {
        name: getattr(old, name) if value is UNSET else _checked(name, value)
        for name, value in values.items()
    }


def _checked(name: str, value: Any) -> str | None:
    """Checks the new value of a brand's field and returns it as it is stored. Raises VALIDATION_ERROR if it is
    invalid.
    """
    match name:
        case "name":
            return fields.name(name, value)
        case "timezone":
            return fields.timezone(value)
        case "logo":
            return fields.url(name, value)
        case "description":
            return fields.optional_text(name, value, max_length=fields.MAX_DESCRIPTION_LENGTH)
        case _:
            return fields.optional_text(name, value, max_length=fields.MAX_GUIDELINES_LENGTH)
