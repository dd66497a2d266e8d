"""A private server is called only for the accounts that are allowed to reach it, and its answers are not shown."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from chassis.http.guarded_client import resolve as ask_resolver
from chassis.vault import Vault
from contracts import webhooks as api
from contracts.errors import ApiError
from webhooks.context import AppContext
from webhooks.management import deliveries, subscriptions
from webhooks.security import parse_private_receivers

STRANGER = "usr_b"
#: What an object store answers to a POST that it does not understand.
STORAGE_ANSWER = b"<Error><Code>AccessDenied</Code><Resource>/posthaste-media/</Resource></Error>"


@pytest.fixture
def storage(receiver: Any) -> Any:
    """An internal server. Only allowed accounts may reach it, and nobody may read its answers."""
    receiver.respond = lambda handler, got: handler.send(403, STORAGE_ANSWER)
    return receiver


@pytest.fixture
def allow(desk: Any) -> Callable[..., None]:
    """Restarts the service with these entries in WEBHOOK_ALLOWED_CIDRS."""

    def restart(*entries: str, resolve: Any = ask_resolver) -> None:
        allowed = parse_private_receivers(entries)
        settings = msgspec.structs.replace(desk.app.settings, private_receivers=allowed)
        desk.app.dispatcher.close()
        desk.app = AppContext(desk.database, settings, Vault(settings.secret_keys), desk.quota, resolve)

    return restart


def attempt_of(desk: Any, account: str, subscription_id: str) -> api.Attempt:
    """Returns the first attempt of the account's only delivery, as its owner sees it."""
    request = api.ListDeliveries(id=subscription_id, limit=10)
    caller = desk.caller(account_id=account)
    (delivery,) = deliveries.show_list(desk.app, caller, request).deliveries
    return delivery.attempts[0]


def test_another_accounts_internal_server_is_refused_when_a_subscription_is_made_or_changed(
    desk: Any, storage: Any, allow: Any
) -> None:
    allow(f"usr_a=127.0.0.1/32:{storage.server_port}")
    stranger = desk.caller(account_id=STRANGER)
    made = desk.subscribe("https://hooks.example.com/", stranger)
    for url in (f"{storage.url}/posthaste-media/", f"http://storage:{storage.server_port}/"):
        edit = api.EditSubscription(id=made.id, url=url)
        for call in (
            lambda url=url: desk.subscribe(url, desk.caller(account_id=STRANGER)),
            lambda edit=edit: subscriptions.edit(desk.app, desk.caller(account_id=STRANGER), edit),
        ):
            with pytest.raises(ApiError) as refused:
                call()
            assert refused.value.row.code == "VALIDATION_ERROR"
            assert refused.value.extras["errors"][0]["field"] == "url"
    desk.subscribe(storage.url)


def test_its_own_account_is_refused_at_the_ports_that_are_not_allowed(
    desk: Any, storage: Any, allow: Any
) -> None:
    allow(f"usr_a=127.0.0.1/32:{storage.server_port + 1}")
    with pytest.raises(ApiError) as refused:
        desk.subscribe(storage.url)
    assert refused.value.row.code == "VALIDATION_ERROR"


def test_a_subscription_from_before_the_network_was_allowed_to_others_alone_is_not_called(
    desk: Any, storage: Any, allow: Any
) -> None:
    made = desk.subscribe(storage.url, desk.caller(account_id=STRANGER))
    allow(f"usr_a=127.0.0.1/32:{storage.server_port}")
    desk.arrive(account=STRANGER)
    desk.settle()
    attempt = attempt_of(desk, STRANGER, made.id)
    assert (attempt.error, attempt.status_code, attempt.answer) == ("private_address", None, None)
    assert storage.got == []


def test_a_public_name_that_leads_to_another_accounts_internal_server_is_not_called(
    desk: Any, storage: Any, allow: Any
) -> None:
    allow(f"usr_a=127.0.0.1/32:{storage.server_port}", resolve=lambda host, port: ["127.0.0.1"])
    url = f"http://rebound.example.com:{storage.server_port}/"
    made = {account: desk.subscribe(url, desk.caller(account_id=account)) for account in (STRANGER, "usr_a")}
    for account in made:
        desk.arrive(account=account)
    desk.settle()
    assert attempt_of(desk, STRANGER, made[STRANGER].id).error == "private_address"
    assert attempt_of(desk, "usr_a", made["usr_a"].id).status_code == 403
    assert len(storage.got) == 1


@pytest.mark.parametrize("account", ["usr_a", "*"])
def test_of_an_internal_servers_answer_only_the_status_is_kept(
    account: str, desk: Any, storage: Any, allow: Any
) -> None:
    allow(f"{account}=127.0.0.1/32:{storage.server_port}")
    made = desk.subscribe(f"{storage.url}/posthaste-media/")
    desk.arrive()
    desk.settle()
    attempt = attempt_of(desk, "usr_a", made.id)
    assert (attempt.status_code, attempt.error, attempt.answer) == (403, "status", None)
    assert desk.query("SELECT answer FROM attempts") == [(None,)]
    assert len(storage.got) == 1
