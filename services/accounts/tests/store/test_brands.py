"""Brands in PostgreSQL."""

from typing import Any

import pytest
from msgspec.structs import replace

from accounts import brands
from contracts.accounts import CreateBrand, EditBrand, GetBrand, ListBrands
from contracts.caller import Caller, operator
from contracts.errors import ApiError


def refusal(accounts: Any, use_case: Any, *args: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        accounts.call(use_case, *args)
    return caught.value


def test_a_brand_comes_back_as_it_was_made(accounts: Any) -> None:
    ann = accounts.user()
    request = CreateBrand(
        user_id=ann.id,
        name="Acme",
        timezone="Europe/Berlin",
        description="Rockets",
        logo="https://cdn.example/logo.png",
        image_guidelines="No people.",
        caption_guidelines="Be brief.",
    )
    made = accounts.call(brands.create_brand, operator(), request)
    caller = Caller(account_id=ann.id, user_id=ann.id)
    assert accounts.call(brands.get_brand, caller, GetBrand(brand_id=made.id)) == made
    assert (made.timezone, made.logo, made.image_guidelines) == (
        "Europe/Berlin",
        "https://cdn.example/logo.png",
        "No people.",
    )


def test_a_repeated_operation_makes_one_brand(accounts: Any) -> None:
    caller = replace(operator(), operation_id="op_1")
    request = CreateBrand(user_id=accounts.user().id, name="Acme")
    made = accounts.call(brands.create_brand, caller, request)
    assert accounts.call(brands.create_brand, caller, request) == made


def test_brands_are_listed_newest_first_page_by_page(accounts: Any) -> None:
    ann = accounts.user()
    made = [accounts.brand(ann, f"Brand {n}").id for n in range(5)]
    accounts.brand(accounts.user(), "Another account's")
    caller, seen, cursor = Caller(account_id=ann.id, user_id=ann.id), [], None
    while cursor is not None or not seen:
        page = accounts.call(brands.list_brands, caller, ListBrands(limit=2, cursor=cursor))
        seen += [brand.id for brand in page.brands]
        cursor = page.next_cursor
    assert seen == made[::-1]


def test_a_restricted_token_lists_only_its_brands(accounts: Any) -> None:
    ann = accounts.user()
    kept, _other = accounts.brand(ann), accounts.brand(ann)
    caller = Caller(account_id=ann.id, user_id=ann.id, brand_ids=(kept.id,))
    assert accounts.call(brands.list_brands, caller, ListBrands()).brands == (kept,)


def test_the_operator_lists_the_brands_of_the_account_he_names(accounts: Any) -> None:
    ann = accounts.user()
    brand = accounts.brand(ann)
    assert accounts.call(brands.list_brands, operator(), ListBrands(user_id=ann.id)).brands == (brand,)
    assert refusal(accounts, brands.list_brands, operator(), ListBrands()).code == "MISSING_FIELD"


def test_naming_another_account_does_not_help_a_token(accounts: Any) -> None:
    ann, eve = accounts.user(), accounts.user()
    accounts.brand(ann)
    caller = Caller(account_id=eve.id, user_id=eve.id, scopes=("*",))
    assert accounts.call(brands.list_brands, caller, ListBrands(user_id=ann.id)).brands == ()


@pytest.mark.parametrize("cursor", ["", "x", "bm8", "WyJhIiwiYiJd", "WyIyMDI3LTAxLTAxIiwidXNyXzEiXQ"])
def test_a_made_up_cursor_is_refused(accounts: Any, cursor: str) -> None:
    ann = accounts.user()
    caller = Caller(account_id=ann.id, user_id=ann.id)
    assert refusal(accounts, brands.list_brands, caller, ListBrands(cursor=cursor)).code == "VALIDATION_ERROR"


@pytest.mark.parametrize("limit", [0, -1, 101])
def test_a_limit_is_between_1_and_100(accounts: Any, limit: int) -> None:
    error = refusal(accounts, brands.list_brands, operator(), ListBrands(limit=limit))
    assert error.code == "VALIDATION_ERROR"


def test_another_accounts_brand_and_an_unknown_one_are_equally_not_found(accounts: Any) -> None:
    eves = accounts.brand(accounts.user())
    caller = Caller(account_id="usr_ann", user_id="usr_ann")
    for brand_id in (eves.id, eves.id[:-4] + "0000", "brd_\0"):
        error = refusal(accounts, brands.get_brand, caller, GetBrand(brand_id=brand_id, field="brand_id"))
        assert (error.code, error.extras) == ("NOT_FOUND", {"field": "brand_id"})


def test_a_brand_of_the_account_out_of_the_tokens_reach_is_not_authorized(accounts: Any) -> None:
    ann = accounts.user()
    mine, other = accounts.brand(ann), accounts.brand(ann)
    caller = Caller(account_id=ann.id, user_id=ann.id, brand_ids=(mine.id,))
    error = refusal(accounts, brands.get_brand, caller, GetBrand(brand_id=other.id))
    assert error.code == "BRAND_NOT_AUTHORIZED"


def test_the_operator_learns_whose_a_brand_is(accounts: Any) -> None:
    ann = accounts.user()
    brand = accounts.brand(ann)
    found = accounts.call(brands.get_brand_owner, operator(), GetBrand(brand_id=brand.id))
    assert (found.brand, found.account_id) == (brand, ann.id)


def test_an_account_has_a_limit_of_brands_and_a_repeat_does_not_count(
    accounts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(brands, "MAX_BRANDS", 1)
    ann = accounts.user()
    owner = Caller(account_id=ann.id, user_id=ann.id, operation_id="op_1")
    request = CreateBrand(user_id="", name="Acme")
    made = accounts.call(brands.create_brand, owner, request)
    assert accounts.call(brands.create_brand, owner, request) == made
    refused = refusal(accounts, brands.create_brand, replace(owner, operation_id="op_2"), request)
    assert (refused.code, refused.extras) == ("LIMIT_REACHED", {"limit": 1})


def test_a_repeated_edit_does_not_undo_a_later_one(accounts: Any) -> None:
    ann = accounts.user()
    brand_id = accounts.brand(ann).id

    def edit(operation_id: str, **values: Any) -> Any:
        caller = Caller(account_id=ann.id, user_id=ann.id, operation_id=operation_id)
        return brands.edit_brand(accounts.database, caller, EditBrand(brand_id=brand_id, **values))

    edit("op_1", name="First")
    archived_at = edit("op_2", name="Second", archived=True).archived_at
    assert edit("op_1", name="First").name == "Second"
    assert edit("op_3", archived=True).archived_at == archived_at
    assert edit("op_4", archived=False).archived_at is None


def test_a_brand_s_new_name_is_told_once_in_the_transaction_of_the_change(accounts: Any) -> None:
    ann = accounts.user()
    brand_id = accounts.brand(ann).id

    def edit(operation_id: str, **values: Any) -> None:
        caller = Caller(account_id=ann.id, user_id=ann.id, operation_id=operation_id)
        brands.edit_brand(accounts.database, caller, EditBrand(brand_id=brand_id, **values))

    edit("op_1", name="First", description="Rockets")
    edit("op_2", name="Second")
    for again in ("op_1", "op_2"):
        edit(again, name="First")
    edit("op_3", description="Rockets and boats", archived=True)
    edit("op_4", archived=False)
    with pytest.raises(ApiError):
        edit("op_5", name="Third", timezone="Mars")
    assert accounts.staged("brand.renamed") == [
        {"brand_id": brand_id, "name": "First"}, {"brand_id": brand_id, "name": "Second"},
    ]  # fmt: skip


def test_nobody_creates_or_changes_a_brand_of_somebody_else(accounts: Any) -> None:
    ann, bob = accounts.user(), accounts.user()
    brand_id = accounts.brand(ann).id
    stranger = Caller(account_id=bob.id, user_id=bob.id)
    made = accounts.call(brands.create_brand, stranger, CreateBrand(user_id=ann.id, name="x"))
    assert [one.id for one in accounts.call(brands.list_brands, stranger, ListBrands()).brands] == [made.id]
    with pytest.raises(ApiError, match="NOT_FOUND"):
        brands.edit_brand(accounts.database, stranger, EditBrand(brand_id=brand_id, name="mine"))
    guest = Caller(account_id=ann.id, user_id=bob.id, brand_ids=(brand_id,))
    with pytest.raises(ApiError, match="COLLABORATOR_INSUFFICIENT"):
        brands.edit_brand(accounts.database, guest, EditBrand(brand_id=brand_id, name="mine"))
