"""Brands: the operator creates them for an account; callers read the brands within their reach."""

from accounts import access, fields
from accounts.store import Connection
from accounts.store.brands import BrandStore
from chassis.cursor import decode_position, encode_position
from chassis.ids import new_id
from contracts.accounts import Brand, BrandList, BrandOwner, CreateBrand, GetBrand, ListBrands
from contracts.caller import Caller
from contracts.errors import IDEMPOTENCY_KEY_MISMATCH, MISSING_FIELD, ApiError


def create_brand(connection: Connection, caller: Caller, request: CreateBrand) -> Brand:
    """Creates a brand. Raises NOT_FOUND for an unknown user, EMAIL_NOT_VERIFIED, VALIDATION_ERROR for an invalid
    field.
    """
    caller.check_operator()
    values = {
        "name": fields.name("name", request.name),
        "timezone": fields.timezone(request.timezone),
        "logo": fields.url("logo", request.logo),
        "description": fields.optional_text(
            "description", request.description, max_length=fields.MAX_DESCRIPTION_LENGTH
        ),
    }
    for field in ("image_guidelines", "caption_guidelines"):
        guidelines = getattr(request, field)
        values[field] = fields.optional_text(field, guidelines, max_length=fields.MAX_GUIDELINES_LENGTH)
    account = access.check_verified(access.lock_account(connection, request.user_id))
    store = BrandStore(connection)
    made = store.add(id=new_id("brd"), account_id=account.id, operation_id=caller.operation_id, **values)
    if made is None and caller.operation_id:  # the same operation ran before
        made = store.find_by_operation(caller.operation_id)
    assert made is not None, "only the operation id can conflict"
    if made.account_id != account.id:
        raise ApiError(IDEMPOTENCY_KEY_MISMATCH)
    return made.brand


def list_brands(connection: Connection, caller: Caller, request: ListBrands) -> BrandList:
    """Returns the brands within the caller's reach, newest first; the operator names the account."""
    limit = fields.limit(request.limit)
    found = BrandStore(connection).list_newest_first(
        _account_of(connection, caller, request),
        caller.brand_ids,
        limit=limit + 1,
        before=decode_position(request.cursor),
    )
    page = found[:limit]
    more = len(found) > limit
    return BrandList(
        brands=tuple(page),
        next_cursor=encode_position(page[-1].created_at, page[-1].id) if more else None,
    )


def _account_of(connection: Connection, caller: Caller, request: ListBrands) -> str:
    if not caller.is_operator:
        return caller.account_id
    if request.user_id is None:
        raise ApiError(MISSING_FIELD, field="user_id")
    return access.account(connection, request.user_id).id


def get_brand(connection: Connection, caller: Caller, request: GetBrand) -> Brand:
    """Returns a brand. Raises NOT_FOUND for another account's brand, BRAND_NOT_AUTHORIZED for a brand outside the
    token's reach.
    """
    found = access.brand(connection, request.brand_id, field=request.field)
    if not caller.is_operator:
        caller.check_reach(found.account_id, found.brand.id, field=request.field)
    return found.brand


def get_brand_owner(connection: Connection, caller: Caller, request: GetBrand) -> BrandOwner:
    caller.check_operator()
    return access.brand(connection, request.brand_id, field=request.field)
