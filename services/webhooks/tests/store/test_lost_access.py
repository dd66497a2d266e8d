"""When a maker loses access, the subscriptions are disabled, get no more deliveries, and the account gets an event."""

from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from chassis.ids import new_id
from contracts import webhooks as api
from contracts.caller import operator
from contracts.errors import ApiError
from contracts.events import AccessRevoked, Event
from testkit.interleaving import Interleaver, Try, explore
from webhooks import maintenance
from webhooks.context import AppContext
from webhooks.events import on_access_revoked
from webhooks.management import deliveries, subscriptions

ACCOUNT, URL = "usr_a", "https://shop.example.com/hooks"


def revoke(desk: Any, *token_ids: str, account: str = ACCOUNT, **fields: Any) -> None:
    """Handles an event `access.revoked` about these tokens."""
    data = AccessRevoked(**({"reason": "token_revoked", "token_ids": token_ids} | fields))
    event = Event(
        id=new_id("evt"),
        event="access.revoked",
        created_at=datetime.now(UTC),
        account_id=account,
        data=msgspec.to_builtins(data),
    )
    with desk.database.transaction() as connection:
        on_access_revoked(connection, event)


def remove(desk: Any) -> None:
    revoke(desk, "tok_guest", "tok_guest_before", reason="collaborator_removed")


def guest(desk: Any, brand_id: str = "brd_1", token_id: str = "tok_guest") -> Any:
    return desk.caller(user_id="usr_guest", token_id=token_id, brand_ids=(brand_id,))


def told(desk: Any) -> list[Any]:
    rows = desk.query("SELECT body FROM outbox WHERE event = 'webhooks.disabled' ORDER BY position")
    return [msgspec.json.decode(bytes(row.body), type=Event) for row in rows]


def test_subscriptions_of_a_revoked_token_are_disabled_and_no_others(desk: Any) -> None:
    leaked = desk.subscribe(URL, desk.caller(token_id="tok_1"))
    rotated_away = desk.subscribe(URL, desk.caller(token_id="tok_0"))
    others = [desk.subscribe(URL, desk.caller(token_id="tok_2")), desk.subscribe(URL)]
    foreign = desk.subscribe(URL, desk.caller(account_id="usr_b", token_id="tok_1"))
    revoke(desk, "tok_0", "tok_1")
    for made in (leaked, rotated_away):
        shown = desk.show(made.id)
        assert (shown.status, shown.disabled_reason) == ("disabled", "token_revoked")
        assert shown.disabled_at is not None
    assert all(desk.show(other.id).status == "active" for other in others)
    assert desk.query("SELECT status FROM subscriptions WHERE id = :id", id=foreign.id) == [("active",)]


def test_a_removed_collaborators_subscriptions_are_disabled_whatever_token_made_them(desk: Any) -> None:
    here = [desk.subscribe(URL, guest(desk)), desk.subscribe(URL, guest(desk, token_id="tok_guest_before"))]
    elsewhere = desk.subscribe(URL, guest(desk, "brd_2", "tok_guest_elsewhere"))
    owners = desk.subscribe(URL, desk.caller(brand_ids=("brd_1",), token_id="tok_owner"))
    remove(desk)
    assert {desk.show(one.id).disabled_reason for one in here} == {"collaborator_removed"}
    assert [desk.show(one.id).status for one in (elsewhere, owners)] == ["active", "active"]


def test_a_subscription_whose_maker_was_not_noted_stays_as_it_is(desk: Any) -> None:
    made = desk.subscribe(URL, guest(desk))
    desk.execute("UPDATE subscriptions SET maker_user_id = NULL, maker_token_id = NULL")
    remove(desk)
    assert desk.show(made.id).status == "active"


def test_nothing_that_waits_goes_out_a_replay_that_was_asked_for_included(desk: Any, receiver: Any) -> None:
    made = desk.subscribe(receiver.url, guest(desk))
    desk.arrive()
    desk.settle()
    [delivery] = desk.log(made.id)
    deliveries.replay(desk.app, desk.caller(), api.ReplayDelivery(id=made.id, delivery_id=delivery.id))
    desk.arrive()
    remove(desk)
    maintenance.end_deliveries(desk.app)
    desk.settle()
    assert len(receiver.got) == 1
    assert [one.status for one in desk.log(made.id)] == ["failed", "failed"]


def test_the_account_is_told_once_by_an_event_that_those_see_who_see_the_subscription(desk: Any) -> None:
    made = desk.subscribe(URL, guest(desk), name="Theirs")
    everything = desk.subscribe(URL, events=("webhooks.disabled",))
    other_brand = desk.subscribe(URL, desk.caller(brand_ids=("brd_2",)), events=("webhooks.disabled",))
    remove(desk)
    remove(desk)
    [event] = told(desk)
    assert event.data == {
        "userId": ACCOUNT,
        "reason": "collaborator_removed",
        "madeBy": {"user_id": "usr_guest", "token_id": "tok_guest"},
        "webhooks": [{"id": made.id, "name": "Theirs"}],
    }
    assert (event.made_within, event.brand_id) == (("brd_1",), None)
    desk.arrive(event="webhooks.disabled", brand=None, made_within=event.made_within)
    assert [len(desk.log(one.id)) for one in (everything, other_brand)] == [1, 0]


def test_nothing_is_told_when_nothing_was_disabled(desk: Any) -> None:
    remove(desk)
    assert told(desk) == []


def test_who_enables_it_again_stands_behind_it(desk: Any) -> None:
    made = desk.subscribe(URL, guest(desk))
    asked = api.SubscriptionId(id=made.id)
    remove(desk)
    subscriptions.enable(desk.app, desk.caller(token_id="tok_owner"), asked)
    remove(desk)
    assert desk.show(made.id).status == "active"
    revoke(desk, "tok_owner")
    assert desk.show(made.id).disabled_reason == "token_revoked"
    subscriptions.enable(desk.app, replace(operator(), account_id=""), asked)
    revoke(desk, "tok_owner")
    assert desk.show(made.id).status == "active"


def test_a_subscription_that_a_collaborator_changed_last_is_disabled_with_the_collaborator(desk: Any) -> None:
    made = desk.subscribe(URL, desk.caller(brand_ids=("brd_1",), token_id="tok_owner"))
    edit = api.EditSubscription(id=made.id, url="https://guest.example.com/")
    subscriptions.edit(desk.app, guest(desk), edit)
    remove(desk)
    assert desk.show(made.id).status == "disabled"


@pytest.mark.parametrize("what", ["create", "edit", "enable"])
def test_a_call_that_was_on_its_way_while_its_token_was_revoked_is_refused(desk: Any, what: str) -> None:
    made, late = desk.subscribe(URL), desk.caller(token_id="tok_1")
    calls = {
        "create": partial(desk.subscribe, URL, late),
        "edit": partial(
            subscriptions.edit, desk.app, late, api.EditSubscription(id=made.id, url="https://x.example/")
        ),
        "enable": partial(subscriptions.enable, desk.app, late, api.SubscriptionId(id=made.id)),
    }
    revoke(desk, "tok_1")
    with pytest.raises(ApiError) as refusal:
        calls[what]()
    assert refusal.value.code == "TOKEN_REVOKED"
    assert desk.show(made.id).url == URL


def test_revoked_tokens_are_forgotten_after_a_day(desk: Any) -> None:
    revoke(desk, "tok_1", "tok_2")
    desk.execute(
        "UPDATE revoked_tokens SET revoked_at = now() - interval '25 hours' WHERE token_id = 'tok_1'"
    )
    maintenance.remove_old(desk.app)
    assert desk.query("SELECT token_id FROM revoked_tokens") == [("tok_2",)]


def test_no_subscription_of_a_revoked_token_stays_active_whatever_the_order(desk: Any, seeds: range) -> None:
    """Runs create, edit and enable while the token loses access, interleaved statement by statement."""
    with Interleaver(desk.database.engine.url.render_as_string(hide_password=False)) as interleaver:
        names = ("create", "edit", "enable", "revoke")
        processes = {name: interleaver.process(name) for name in names}

        def app(name: str) -> AppContext:
            return AppContext(processes[name].database, desk.app.settings, desk.app.vault, desk.quota)

        def example(seed: int) -> None:
            account, token = new_id("usr"), new_id("tok")
            late = desk.caller(account_id=account, user_id=account, token_id=token)
            owner = desk.caller(account_id=account, user_id=account)
            made, ended = desk.subscribe(URL, owner), desk.subscribe(URL, owner)
            desk.execute("UPDATE subscriptions SET status = 'disabled' WHERE id = :id", id=ended.id)
            request = api.CreateSubscription(name="Shop", url=URL, events=("post.failed",))
            edit = api.EditSubscription(id=made.id, url="https://x.example/")
            works = {
                "create": partial(subscriptions.create, app("create"), late, request),
                "edit": partial(subscriptions.edit, app("edit"), late, edit),
                "enable": partial(subscriptions.enable, app("enable"), late, api.SubscriptionId(id=ended.id)),
                "revoke": partial(revoke, app("revoke"), token, account=account),
            }
            interleaver.run(seed, *(Try(name, processes[name], works[name], cuts=()) for name in names))
            mine = "SELECT FROM subscriptions WHERE maker_token_id = :token AND status = 'active'"
            assert desk.query(mine, token=token) == []

        explore(interleaver, seeds, example)
