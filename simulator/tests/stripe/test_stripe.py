"""Tests the simulated Stripe API as a client sees it. Its webhooks are tested in test_stripe_webhooks.py."""

import pytest

KEY = {"Authorization": "Bearer local-stripe-key"}
ORDER = {
    "amount": "900", "currency": "usd", "customer": "cus_local", "payment_method": "pm_card_visa",
    "payment_method_types[0]": "card", "confirm": "true", "off_session": "true", "metadata[order]": "7",
}  # fmt: skip


def pay(client, key=None, headers=KEY, **fields):
    form = {name: value for name, value in {**ORDER, **fields}.items() if value is not None}
    headers = {**headers, **({"Idempotency-Key": key} if key else {})}
    return client.post("/v1/payment_intents", data=form, headers=headers)


def get(client, path, **query):
    return client.get(f"/v1/{path}", query_string=query, headers=KEY)


def charged(client):
    return client.get("/_sim/payments").get_json()["charged"]


def error_of(answer):
    error = answer.get_json()["error"]
    return answer.status_code, error["type"], error.get("code")


def test_a_payment_is_made_and_confirmed_in_one_call(client):
    intent = pay(client).get_json()
    assert (intent["object"], intent["status"], intent["amount_received"]) == (
        "payment_intent",
        "succeeded",
        900,
    )
    assert (intent["metadata"], intent["customer"]) == ({"order": "7"}, "cus_local")
    assert get(client, f"payment_intents/{intent['id']}").get_json() == intent
    assert charged(client) == {"count": 1, "amount": 900}


def test_an_unconfirmed_payment_takes_nothing(client):
    assert pay(client, confirm=None, off_session=None).get_json()["status"] == "requires_confirmation"
    assert charged(client) == {"count": 0, "amount": 0}


@pytest.mark.parametrize(
    ("card", "code", "decline_code"),
    [
        ("pm_card_chargeDeclined", "card_declined", "generic_decline"),
        ("pm_card_chargeDeclinedInsufficientFunds", "card_declined", "insufficient_funds"),
        ("pm_card_authenticationRequired", "authentication_required", "authentication_required"),
    ],
)
def test_a_declined_card_leaves_an_unpaid_payment(client, card, code, decline_code):
    answer = pay(client, payment_method=card)
    assert error_of(answer) == (402, "card_error", code)
    error = answer.get_json()["error"]
    assert error["decline_code"] == decline_code
    held = get(client, f"payment_intents/{error['payment_intent']['id']}").get_json()
    assert (held["status"], held["last_payment_error"]["code"]) == ("requires_payment_method", code)
    assert charged(client)["count"] == 0


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"amount": None}, "parameter_missing"),
        ({"amount": "9.5"}, "parameter_invalid_integer"),
        ({"amount": "49"}, "amount_too_small"),
        ({"currency": None}, "parameter_missing"),
        ({"customer": "cus_nobody"}, "resource_missing"),
        ({"payment_method": "pm_nothing"}, "resource_missing"),
        ({"payment_method": None}, "payment_intent_unexpected_state"),
        ({"refill": "1"}, "parameter_unknown"),
        ({"confirm": "yes"}, "parameter_invalid_boolean"),
    ],
)
def test_what_cannot_be_is_refused_and_takes_nothing(client, change, code):
    assert error_of(pay(client, **change)) == (400, "invalid_request_error", code)
    assert client.get("/_sim/payments").get_json()["payments"] == []


def test_a_call_without_a_key_or_with_a_wrong_one_is_refused(client):
    assert pay(client, headers={}).status_code == 401
    assert pay(client, headers={"Authorization": "Bearer sk_test_nonsense"}).status_code == 401
    assert pay(client, headers={"Authorization": "Basic bG9jYWwtc3RyaXBlLWtleTo="}).status_code == 200


def test_the_same_idempotency_key_is_charged_once_and_answered_alike(client):
    first, second = pay(client, "order-7"), pay(client, "order-7")
    assert second.get_json() == first.get_json()
    assert (first.headers.get("Idempotent-Replayed"), second.headers["Idempotent-Replayed"]) == (None, "true")
    assert charged(client)["count"] == 1
    [payment] = client.get("/_sim/payments").get_json()["payments"]
    assert payment["idempotency_key"] == "order-7"


def test_a_decline_is_repeated_under_its_key_and_a_mistake_is_not(client):
    assert pay(client, "a", payment_method="pm_card_chargeDeclined").status_code == 402
    assert pay(client, "a", payment_method="pm_card_chargeDeclined").headers["Idempotent-Replayed"] == "true"
    assert pay(client, "b", amount="1").status_code == 400
    assert pay(client, "b").status_code == 200


def test_a_key_belongs_to_its_parameters(client):
    pay(client, "order-7")
    assert error_of(pay(client, "order-7", amount="1000")) == (400, "idempotency_error", None)
    assert charged(client)["count"] == 1


def test_a_key_is_forgotten_after_a_day(client, clock):
    pay(client, "order-7")
    clock.pass_time(24 * 3600 + 1)
    pay(client, "order-7")
    assert charged(client)["count"] == 2


def test_payments_are_listed_newest_first_in_pages(client, clock):
    ids = []
    for _ in range(3):
        ids.append(pay(client).get_json()["id"])
        clock.pass_time(10)
    page = get(client, "payment_intents", limit=2, customer="cus_local").get_json()
    assert (page["object"], page["has_more"], [row["id"] for row in page["data"]]) == (
        "list",
        True,
        ids[:0:-1],
    )
    rest = get(client, "payment_intents", starting_after=ids[1]).get_json()
    assert ([row["id"] for row in rest["data"]], rest["has_more"]) == ([ids[0]], False)
    newest = get(client, "payment_intents", **{"created[gt]": page["data"][1]["created"]}).get_json()
    assert [row["id"] for row in newest["data"]] == [ids[2]]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("metadata['order']:'7'", 1),
        ('metadata["order"]:"7" AND status:"succeeded"', 1),
        ("metadata['order']:'8' OR amount>1000", 1),
        ("-metadata['order']:'7' AND amount>=900", 1),
        ("metadata['order']:'9'", 0),
    ],
)
def test_payments_are_found_by_their_metadata(client, query, found):
    pay(client)
    pay(client, amount="2000", **{"metadata[order]": None})
    answer = get(client, "payment_intents/search", query=query).get_json()
    assert (answer["object"], len(answer["data"])) == ("search_result", found)


def test_a_search_that_cannot_be_read_is_refused(client):
    for query in ("order 7", "status:'a' AND amount:5 OR amount:6"):
        assert get(client, "payment_intents/search", query=query).status_code == 400


def test_a_customers_own_card_is_charged_for_him_alone(client):
    customer = client.post("/v1/customers", data={"email": "a@b.test"}, headers=KEY).get_json()["id"]
    attach = "/v1/payment_methods/pm_card_chargeDeclined/attach"
    card = client.post(attach, data={"customer": customer}, headers=KEY).get_json()["id"]
    cards = get(client, f"customers/{customer}/payment_methods").get_json()["data"]
    assert [row["id"] for row in cards] == [card]
    assert pay(client, customer=customer, payment_method=card).status_code == 402
    assert error_of(pay(client, payment_method=card))[2] == "payment_method_unexpected_state"
    client.post("/_sim/reset")
    assert get(client, f"customers/{customer}").status_code == 200
    assert client.get("/_sim/payments").get_json()["payments"] == []


def test_what_is_not_there_is_not_found(client):
    for path in ("payment_intents/pi_nothing", "customers/cus_nobody"):
        assert error_of(get(client, path)) == (404, "invalid_request_error", "resource_missing")


@pytest.mark.parametrize(
    ("mode", "status"), [("reject", 402), ("rate_limit", 429), ("server_error", 500), ("expired", 401)]
)
def test_a_planned_refusal_takes_no_money(client, plan_fault, mode, status):
    plan_fault("stripe", "payment", mode)
    assert pay(client).status_code == status
    assert charged(client)["count"] == 0
    assert pay(client).status_code == 200


def test_a_failure_of_the_server_is_kept_under_the_key_and_a_rate_limit_is_not(client, plan_fault):
    plan_fault("stripe", "payment", "server_error")
    assert [pay(client, "a").status_code for _ in range(2)] == [500, 500]
    plan_fault("stripe", "payment", "rate_limit")
    assert [pay(client, "b").status_code for _ in range(2)] == [429, 200]
    assert charged(client)["count"] == 1


def test_a_dropped_answer_can_be_had_again_by_its_key(client, plan_fault):
    plan_fault("stripe", "payment", "drop_after_accept")
    pay(client, "order-7")
    again = pay(client, "order-7")
    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
    assert charged(client)["count"] == 1


def test_a_fault_can_be_for_one_customer(client, plan_fault):
    plan_fault("stripe", "payment", "reject", account_id="cus_local_2")
    assert pay(client).status_code == 200
    assert pay(client, customer="cus_local_2").status_code == 402
