"""The routes of the simulated Stripe API. Before each call the API key and the idempotency key are checked, and a fault
that a test ordered for this call takes place."""

import json
import secrets
from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, g, request

from simulator.faults import Planned
from simulator.simulation import Simulation
from simulator.stripe import errors, forms, intents
from simulator.stripe.cards import DECLINED
from simulator.stripe.errors import StripeError
from simulator.stripe.ledger import Ledger
from simulator.stripe.webhooks import Webhooks

Answer = dict[str, Any]

_LONGEST_KEY = 255
_CUSTOMER_FIELDS = ("email", "name", "description", "metadata", "payment_method")


def blueprint(sim: Simulation, ledger: Ledger, webhooks: Webhooks) -> Blueprint:
    """Returns the routes of the simulated Stripe API, which use the state in `sim`."""
    api = Blueprint("api", __name__, url_prefix="/v1")
    api.before_request(lambda: _check_key(sim.settings.stripe_key))

    @api.errorhandler(StripeError)
    def refused(problem: StripeError) -> Response:
        return _json(problem.status, {"error": problem.error})

    @api.after_request
    def number(response: Response) -> Response:
        response.headers["Request-Id"] = "req_" + secrets.token_hex(7)
        response.headers["Stripe-Should-Retry"] = "true" if response.status_code in (409, 429) else "false"
        return response

    @api.post("/payment_intents")
    def create() -> Response:
        return _once(ledger, lambda params: _pay(sim, ledger, webhooks, params))

    @api.get("/payment_intents")
    def show_all() -> Response:
        return _look_up(sim, lambda: intents.listed(_params(), ledger.rows()))

    @api.get("/payment_intents/search")
    def search() -> Response:
        return _look_up(sim, lambda: intents.searched(_params(), ledger.rows()))

    @api.get("/payment_intents/<intent_id>")
    def show(intent_id: str) -> Response:
        return _look_up(
            sim, lambda: _found(ledger.intents.get(intent_id), "payment_intent", intent_id, "intent")
        )

    _add_customers(api, sim, ledger)
    return api


def _pay(sim: Simulation, ledger: Ledger, webhooks: Webhooks, params: Answer) -> Answer:
    intent, decline = intents.read(params, ledger)
    confirmed = forms.flag(params, "confirm")
    mode = sim.faults.take("stripe", "payment", intent["customer"])
    if mode == "reject" and confirmed:
        mode, decline = None, DECLINED

    def act() -> Answer:
        key = request.headers.get("Idempotency-Key")
        if confirmed:
            intents.confirm(intent, decline)
        ledger.add(intent, key)
        if confirmed:
            webhooks.send(f"payment_intent.{'payment_failed' if decline else 'succeeded'}", intent, key)
            if decline:
                raise errors.declined(decline, intent)
        if key:  # stored before the connection may be dropped, so that an immediate retry gets it
            ledger.settle(key, (200, intent))
        return intent

    return _played(sim, mode, act)


def _add_customers(api: Blueprint, sim: Simulation, ledger: Ledger) -> None:
    @api.post("/customers")
    def create_customer() -> Response:
        def act(params: Answer) -> Answer:
            forms.only_known(params, _CUSTOMER_FIELDS)
            method = forms.text(params, "payment_method")
            fields = {name: value for name, value in params.items() if name != "payment_method"}
            customer = ledger.add_customer(None, fields)
            if method:
                ledger.attach(method, customer["id"])
            return customer

        return _once(ledger, act)

    @api.get("/customers/<customer_id>")
    def show_customer(customer_id: str) -> Response:
        return _look_up(
            sim, lambda: _found(ledger.customer(customer_id), "customer", customer_id, "customer")
        )

    @api.get("/customers/<customer_id>/payment_methods")
    def show_cards(customer_id: str) -> Response:
        _found(ledger.customer(customer_id), "customer", customer_id, "customer")
        return _look_up(sim, lambda: _cards(ledger, customer_id))

    @api.get("/payment_methods")
    def show_cards_of() -> Response:
        customer_id = forms.text(_params(), "customer") or ""
        _found(ledger.customer(customer_id), "customer", customer_id, "customer")
        return _look_up(sim, lambda: _cards(ledger, customer_id))

    @api.post("/payment_methods/<method_id>/attach")
    def attach(method_id: str) -> Response:
        def act(params: Answer) -> Answer:
            customer_id = forms.text(params, "customer")
            if customer_id is None:
                raise errors.missing("customer")
            _found(ledger.customer(customer_id), "customer", customer_id, "customer")
            return ledger.attach(method_id, customer_id)

        return _once(ledger, act)


def _cards(ledger: Ledger, customer_id: str) -> Answer:
    url = f"/v1/customers/{customer_id}/payment_methods"
    return {"object": "list", "url": url, "has_more": False, "data": ledger.cards_of(customer_id)}


def _found(thing: Answer | None, what: str, object_id: str, param: str) -> Answer:
    if thing is None:
        raise errors.no_such(what, object_id, param, 404)
    return thing


def _look_up(sim: Simulation, act: Callable[[], Answer]) -> Response:
    return _json(200, _played(sim, sim.faults.take("stripe", "status", None), act))


def _played(sim: Simulation, mode: Planned | None, act: Callable[[], Answer]) -> Answer:
    def done() -> Answer:
        answer = g.answer = act()  # stored even if the connection is dropped afterwards
        return answer

    return sim.faults.play(mode, lambda refused: errors.refusal(refused, sim.settings.stripe_key), done)


def _once(ledger: Ledger, act: Callable[[Answer], Answer]) -> Response:
    """Runs a POST request and stores its response under the request's idempotency key. If a response is stored under
    the key already, sends that one and does not run the request.
    """
    params, key = _params(), request.headers.get("Idempotency-Key")
    if key is None:
        return _json(200, act(params))
    if not 0 < len(key) <= _LONGEST_KEY:
        raise StripeError(400, "Idempotency-Key is not valid: it has to have 1 to 255 characters.")
    kept = ledger.claim(key, (request.path, params))
    if kept is not None:
        response = _json(*kept)
        response.headers["Idempotent-Replayed"] = "true"
        return response
    answer: tuple[int, Answer] | None = None
    try:
        answer = 200, act(params)
        return _json(*answer)
    except StripeError as problem:
        answer = (problem.status, {"error": problem.error}) if problem.kept else None
        raise
    finally:
        ledger.settle(key, answer or ((200, g.answer) if "answer" in g else None))


def _params() -> Answer:
    return forms.nested((request.form if request.method == "POST" else request.args).items(multi=True))


def _check_key(wanted: str) -> None:
    given = request.authorization
    key = (given.token or given.username or "") if given else ""
    if not key:
        raise errors.no_key()
    if key != wanted:
        raise errors.wrong_key(key)


def _json(status: int, body: Answer) -> Response:
    return Response(json.dumps(body, indent=2), status, content_type="application/json")
