"""Calls that create, show and change subscriptions, and who may make them."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest
from cryptography.fernet import Fernet
from msgspec.structs import replace

from chassis.vault import Vault
from contracts import webhooks as api
from contracts.caller import operator
from contracts.errors import ApiError
from contracts.keys import KeysRotated, RotateKeys
from webhooks.management import subscriptions

URL = "https://shop.example.com/hooks?key=1"


def code_of(error: pytest.ExceptionInfo[ApiError]) -> str:
    return error.value.code


def test_a_new_subscription_shows_its_secret_once_and_stores_it_encrypted(desk: Any) -> None:
    made = desk.subscribe(URL, events=("post.failed", "post.published", "post.failed"), brand_ids=("brd_1",))
    assert made.secret.startswith("whsec_")
    shown = desk.show(made.id)
    assert msgspec.to_builtins(made) == {**msgspec.to_builtins(shown), "secret": made.secret}
    assert (shown.url, shown.events, shown.brand_ids) == (URL, ("post.failed", "post.published"), ("brd_1",))
    assert (shown.status, shown.consecutive_failures, shown.last_delivery_at) == ("active", 0, None)
    assert made.secret not in str(desk.query("SELECT secret FROM secrets"))


def test_a_repeated_operation_answers_the_same_with_the_same_secret(desk: Any) -> None:
    caller = desk.caller()
    first = desk.subscribe(URL, caller)
    assert desk.subscribe(URL, caller) == first
    assert len(desk.query("SELECT FROM subscriptions")) == 1


def test_a_try_whose_later_one_was_refused_makes_no_subscription(
    desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller, brands = desk.caller(), subscriptions._brands

    def overtaken(*arguments: Any) -> Any:
        monkeypatch.setattr(subscriptions, "_brands", brands)
        with pytest.raises(ApiError) as refusal:
            desk.subscribe("ftp://shop.example.com/", replace(caller, try_number=2))
        assert code_of(refusal) == "VALIDATION_ERROR"
        return brands(*arguments)

    monkeypatch.setattr(subscriptions, "_brands", overtaken)
    with pytest.raises(ApiError) as late:
        desk.subscribe(URL, caller)
    assert code_of(late) == "IDEMPOTENCY_IN_PROGRESS"
    assert desk.query("SELECT FROM subscriptions") == []


def test_of_thirty_at_once_exactly_twenty_are_made(desk: Any) -> None:
    def attempt(_number: int) -> str:
        try:
            desk.subscribe(URL)
        except ApiError as error:
            return error.code
        return "made"

    with ThreadPoolExecutor(10) as pool:
        outcomes = list(pool.map(attempt, range(30)))
    assert sorted(outcomes) == ["LIMIT_REACHED"] * 10 + ["made"] * 20
    desk.subscribe(URL, desk.caller(account_id="usr_b"))  # another account's own twenty


def test_it_is_deleted_again_by_the_operation_that_did(desk: Any) -> None:
    caller, asked = desk.caller(), api.SubscriptionId(id=desk.subscribe(URL).id)
    first = subscriptions.delete(desk.app, caller, asked)
    assert subscriptions.delete(desk.app, caller, asked) == first
    for other in (desk.caller(), replace(caller, operation_id=None), replace(caller, account_id="usr_other")):
        with pytest.raises(ApiError) as refusal:
            subscriptions.delete(desk.app, other, asked)
        assert code_of(refusal) == "NOT_FOUND"


def test_two_deletions_without_an_operation_are_two(desk: Any) -> None:
    caller, asked = replace(desk.caller(), operation_id=None), api.SubscriptionId(id=desk.subscribe(URL).id)
    subscriptions.delete(desk.app, caller, asked)
    with pytest.raises(ApiError) as refusal:
        subscriptions.delete(desk.app, caller, asked)
    assert code_of(refusal) == "NOT_FOUND"


def test_a_deleted_one_makes_room_and_is_gone(desk: Any) -> None:
    made = [desk.subscribe(URL) for _ in range(20)]
    deleted = subscriptions.delete(desk.app, desk.caller(), api.SubscriptionId(id=made[0].id))
    assert deleted == api.SubscriptionDeleted(success=True, id=made[0].id)
    desk.subscribe(URL)
    for call in (subscriptions.show, subscriptions.delete, subscriptions.enable, subscriptions.rotate_secret):
        with pytest.raises(ApiError) as refused:
            call(desk.app, desk.caller(), api.SubscriptionId(id=made[0].id))
        assert code_of(refused) == "NOT_FOUND"


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/", "javascript:alert(1)", "/hook", "https://", "https://user:pass@example.com/",
        "http://10.0.0.1/", "http://169.254.169.254/latest", "http://[::1]/", "http://0x7f.1/", "http://2130706433/",
        "http://127.0.0.2/", "http://[::ffff:10.0.0.1]/", "http://example.com:0/", "http://exa mple.com/",
        "https://example.com/\x00", "https://" + "a" * 2_050 + ".com/",
    ],
)  # fmt: skip
def test_a_malformed_or_private_url_is_refused_when_made_and_when_changed(desk: Any, url: str) -> None:
    made = desk.subscribe(URL)
    edit = api.EditSubscription(id=made.id, url=url)
    for attempt in (
        lambda: desk.subscribe(url),
        lambda: subscriptions.edit(desk.app, desk.caller(), edit),
    ):
        with pytest.raises(ApiError) as refused:
            attempt()
        assert code_of(refused) == "VALIDATION_ERROR"
        assert refused.value.extras["errors"][0]["field"] == "url"


def test_only_the_fields_that_are_sent_change(desk: Any) -> None:
    made = desk.subscribe(URL, brand_ids=("brd_1",))
    edit = api.EditSubscription(id=made.id, name=" Till ", events=("comment.received",))
    changed = subscriptions.edit(desk.app, desk.caller(), edit)
    assert (changed.name, changed.events) == ("Till", ("comment.received",))
    assert (changed.url, changed.brand_ids) == (URL, ("brd_1",))
    same = subscriptions.edit(desk.app, desk.caller(), api.EditSubscription(id=made.id))
    assert same == changed


def test_what_is_another_accounts_or_nobodys_is_not_found(desk: Any) -> None:
    made, stranger = desk.subscribe(URL), desk.caller(account_id="usr_b", user_id="usr_b")
    for subscription_id in (made.id, "whk_none", "%00", "whk_\x00"):
        with pytest.raises(ApiError) as refused:
            subscriptions.show(desk.app, stranger, api.SubscriptionId(id=subscription_id))
        assert code_of(refused) == "NOT_FOUND"


def test_a_brand_restricted_token_sees_and_makes_only_what_lies_within_its_brands(desk: Any) -> None:
    restricted = desk.caller(brand_ids=("brd_1", "brd_2"))
    own = desk.subscribe(URL, restricted)
    assert own.brand_ids == ("brd_1", "brd_2")
    within = desk.subscribe(URL, desk.caller(brand_ids=("brd_2",)))
    hidden_ones = (
        desk.subscribe(URL),
        desk.subscribe(URL, brand_ids=("brd_2",)),  # by a token for all brands, though for the events of one
        desk.subscribe(URL, desk.caller(brand_ids=("brd_1", "brd_3")), brand_ids=("brd_1",)),
        moved := desk.subscribe(URL, desk.caller(brand_ids=("brd_1",))),
    )
    edit = api.EditSubscription(id=moved.id, brand_ids=("brd_3",))
    subscriptions.edit(desk.app, desk.caller(), edit)
    listed = subscriptions.show_list(desk.app, restricted, api.ListSubscriptions()).webhooks
    assert [one.id for one in listed] == [within.id, own.id]
    for hidden in hidden_ones:
        with pytest.raises(ApiError) as refused:
            subscriptions.show(desk.app, restricted, api.SubscriptionId(id=hidden.id))
        assert code_of(refused) == "NOT_FOUND"
    with pytest.raises(ApiError) as refused:
        desk.subscribe(URL, desk.caller(brand_ids=("brd_1",)), brand_ids=("brd_3",))
    assert code_of(refused) == "BRAND_NOT_AUTHORIZED"
    widened = subscriptions.edit(desk.app, restricted, api.EditSubscription(id=own.id, brand_ids=()))
    assert widened.brand_ids == ("brd_1", "brd_2")


def test_of_a_subscription_that_does_not_say_who_made_it_its_events_brands_say_whose_it_is(desk: Any) -> None:
    restricted = desk.caller(brand_ids=("brd_1",))
    desk.subscribe(URL)
    made = desk.subscribe(URL, brand_ids=("brd_1",))
    desk.execute("UPDATE subscriptions SET made_within = NULL")
    listed = subscriptions.show_list(desk.app, restricted, api.ListSubscriptions()).webhooks
    assert [one.id for one in listed] == [made.id]
    assert subscriptions.show(desk.app, restricted, api.SubscriptionId(id=made.id)) == desk.show(made.id)


def test_the_list_is_newest_first_page_by_page(desk: Any) -> None:
    made = [desk.subscribe(URL).id for _ in range(5)]
    pages, cursor = [], None
    while True:
        request = api.ListSubscriptions(limit=2, cursor=cursor)
        page = subscriptions.show_list(desk.app, desk.caller(), request)
        pages.append([one.id for one in page.webhooks])
        cursor = page.next_cursor
        if cursor is None:
            break
    assert pages == [made[4:2:-1], made[2:0:-1], made[:1]]
    with pytest.raises(ApiError) as refused:
        subscriptions.show_list(desk.app, desk.caller(), api.ListSubscriptions(cursor="bm8"))
    assert code_of(refused) == "VALIDATION_ERROR"


def test_the_list_has_those_of_one_state_alone_if_it_is_asked_to(desk: Any) -> None:
    made = [desk.subscribe(URL).id for _ in range(3)]
    desk.execute(
        f"UPDATE subscriptions SET status = 'disabled', disabled_reason = 'gone' WHERE id = '{made[1]}'"
    )

    def listed(status: Any) -> list[str]:
        request = api.ListSubscriptions(status=status)
        return [one.id for one in subscriptions.show_list(desk.app, desk.caller(), request).webhooks]

    assert (listed("disabled"), listed("active"), len(listed(None))) == ([made[1]], [made[2], made[0]], 3)


def test_the_operator_enables_anybodys_and_sees_nothing_else(desk: Any) -> None:
    made = desk.subscribe(URL)
    desk.execute(
        "UPDATE subscriptions SET status = 'disabled', disabled_reason = 'gone', disabled_at = clock_now()"
    )
    assert desk.show(made.id).disabled_at is not None
    desk.execute("UPDATE lanes SET consecutive_failures = 20")
    enabled = subscriptions.enable(desk.app, operator(), api.SubscriptionId(id=made.id))
    assert (enabled.status, enabled.disabled_reason, enabled.consecutive_failures) == ("active", None, 0)
    assert enabled.disabled_at is None
    with pytest.raises(ApiError):
        subscriptions.show(desk.app, operator(), api.SubscriptionId(id=made.id))


def test_a_repeated_edit_does_not_undo_a_later_one(desk: Any) -> None:
    made, first = desk.subscribe(URL), desk.caller()
    old = api.EditSubscription(id=made.id, url="https://old.example.com/")
    subscriptions.edit(desk.app, first, old)
    later = subscriptions.edit(desk.app, desk.caller(), api.EditSubscription(id=made.id, url=URL))
    assert subscriptions.edit(desk.app, first, old) == later == desk.show(made.id)


@pytest.mark.parametrize("by_operator", [False, True])
def test_a_repeated_enabling_does_not_undo_a_later_disabling(desk: Any, by_operator: bool) -> None:
    made, caller = desk.subscribe(URL), desk.caller()
    if by_operator:
        caller = replace(operator(), operation_id=caller.operation_id)
    subscriptions.enable(desk.app, caller, api.SubscriptionId(id=made.id))
    desk.execute("UPDATE subscriptions SET status = 'disabled', disabled_reason = 'token_revoked'")
    assert subscriptions.enable(desk.app, caller, api.SubscriptionId(id=made.id)).status == "disabled"
    assert desk.show(made.id).disabled_reason == "token_revoked"


def test_a_repeated_edit_of_a_deleted_one_is_not_found(desk: Any) -> None:
    made, caller = desk.subscribe(URL), desk.caller()
    edit = api.EditSubscription(id=made.id, name="Till")
    subscriptions.edit(desk.app, caller, edit)
    subscriptions.delete(desk.app, desk.caller(), api.SubscriptionId(id=made.id))
    with pytest.raises(ApiError) as refusal:
        subscriptions.edit(desk.app, caller, edit)
    assert code_of(refusal) == "NOT_FOUND"


def test_a_repeated_rotation_answers_the_same_and_another_one_does_not(desk: Any) -> None:
    made, caller = desk.subscribe(URL), desk.caller()
    request = api.SubscriptionId(id=made.id)
    first = subscriptions.rotate_secret(desk.app, caller, request)
    assert subscriptions.rotate_secret(desk.app, caller, request) == first
    second = subscriptions.rotate_secret(desk.app, desk.caller(), request)
    assert len({made.secret, first.secret, second.secret}) == 3
    assert subscriptions.rotate_secret(desk.app, caller, request) == first


def test_the_tier_is_the_callers_until_accounts_tells_another(desk: Any) -> None:
    from contracts.events import Event
    from webhooks.events import on_account_changed

    def tell(event_id: str, tier: str) -> None:
        data = {"account_id": "usr_a", "tier": tier}
        event = Event(
            id=event_id, event="account.changed", created_at=made.created_at, account_id="usr_a", data=data
        )
        with desk.database.transaction() as connection:
            on_account_changed(connection, event)

    def tier() -> str:
        return desk.query("SELECT tier FROM accounts")[0].tier

    made = desk.subscribe(URL)
    assert tier() == "pro"
    desk.subscribe(URL, desk.caller(tier="developer"))
    assert tier() == "developer"
    tell("evt_2", "elite")
    tell("evt_1", "free")  # older, and late
    desk.subscribe(URL, desk.caller(tier="developer"))  # of a gateway that has not heard yet
    assert tier() == "elite"


def test_secrets_go_under_the_newest_key_and_stay_what_they_are(desk: Any) -> None:
    made = [desk.subscribe(URL).secret for _ in range(3)]
    old, new = desk.app.vault, Fernet.generate_key().decode()
    settings = desk.app.settings
    desk.app.vault = Vault([new, *settings.secret_keys])
    assert subscriptions.rotate_keys(desk.app, operator(), RotateKeys()) == KeysRotated(rotated=3)
    stored = [secret for (secret,) in desk.query("SELECT secret FROM secrets ORDER BY id")]
    assert [Vault([new]).decrypt(secret) for secret in stored] == made
    assert subscriptions.rotate_keys(desk.app, operator(), RotateKeys()) == KeysRotated(rotated=0)
    desk.app.vault = old
    assert len(subscriptions.rotate_keys(desk.app, operator(), RotateKeys()).unreadable) == 3


def test_only_the_operator_rotates_keys(desk: Any) -> None:
    with pytest.raises(ApiError) as refused:
        subscriptions.rotate_keys(desk.app, desk.caller(), RotateKeys())
    assert code_of(refused) == "MISSING_SCOPE"
