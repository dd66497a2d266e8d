"""PaymentIntents, Stripe's objects for payments: creates, charges, lists and searches them."""

import re
import secrets
from typing import Any

from simulator.stripe import cards, forms
from simulator.stripe.cards import Decline
from simulator.stripe.errors import StripeError, missing, no_such
from simulator.stripe.ledger import Ledger

_FIELDS = frozenset(
    ("amount", "currency", "customer", "payment_method", "confirm", "off_session", "description", "metadata",
     "payment_method_types", "automatic_payment_methods", "receipt_email", "statement_descriptor",
     "statement_descriptor_suffix", "setup_future_usage", "capture_method", "confirmation_method", "return_url",
     "error_on_requires_action", "expand", "shipping", "transfer_group")
)  # fmt: skip
#: Limits of an amount in cents: $0.50 and $999,999.99.
_LEAST_AMOUNT, _MOST_AMOUNT = 50, 99_999_999
_CLAUSE = re.compile(
    r"\s*(-?)(?:metadata\[(['\"])(?P<key>.+?)\2\]|(?P<field>amount|created|currency|customer|status))"
    r"\s*(?P<op>:|>=|<=|>|<)\s*(?:(['\"])(?P<text>.*?)\6|(?P<number>\d+))\s*"
)


def read(params: dict[str, Any], ledger: Ledger) -> tuple[dict[str, Any], Decline | None]:
    """Checks the parameters of a request. Returns a new payment, which is not stored yet, and the reason why its
    charge will fail (None: it will succeed). Raises StripeError if the request is invalid.
    """
    forms.only_known(params, _FIELDS)
    amount, currency = forms.integer(params, "amount"), forms.text(params, "currency")
    if currency is None:
        raise missing("currency")
    if not re.fullmatch("[a-zA-Z]{3}", currency):
        raise StripeError(400, f"Invalid currency: {currency}.", "parameter_invalid_string", "currency")
    if amount < _LEAST_AMOUNT:
        message = "Amount must be at least $0.50 usd" if amount > 0 else "Invalid positive integer"
        raise StripeError(
            400, message, "amount_too_small" if amount > 0 else "parameter_invalid_integer", "amount"
        )
    if amount > _MOST_AMOUNT:
        raise StripeError(400, "Amount must be no more than $999,999.99", "amount_too_large", "amount")
    customer, method = forms.text(params, "customer"), forms.text(params, "payment_method")
    if customer is not None and ledger.customer(customer) is None:
        raise no_such("customer", customer, "customer")
    decline = ledger.outcome(method, customer) if method else None
    confirm = forms.flag(params, "confirm")
    if forms.flag(params, "off_session") and not confirm:
        raise StripeError(400, "`off_session` can only be used when `confirm` is true.", None, "off_session")
    if confirm and method is None:
        raise StripeError(400, "You cannot confirm this PaymentIntent because it's missing a payment method. You "
                          "can either update the PaymentIntent with a payment method and then confirm it again, "
                          "or confirm it again directly with a payment method or ConfirmationToken.",
                          "payment_intent_unexpected_state")  # fmt: skip
    intent = _intent(ledger.now(), amount, currency.lower(), customer, method)
    intent["description"] = forms.text(params, "description")
    intent["metadata"] = forms.mapping(params, "metadata")
    intent["status"] = "requires_confirmation" if method else "requires_payment_method"
    return intent, decline


def _intent(
    created: int, amount: int, currency: str, customer: str | None, method: str | None
) -> dict[str, Any]:
    intent_id = "pi_3" + secrets.token_hex(12)
    return {
        "id": intent_id, "object": "payment_intent", "amount": amount, "amount_capturable": 0,
        "amount_received": 0, "canceled_at": None, "capture_method": "automatic_async",
        "client_secret": f"{intent_id}_secret_{secrets.token_hex(12)}", "confirmation_method": "automatic",
        "created": created, "currency": currency, "customer": customer, "description": None,
        "last_payment_error": None, "latest_charge": None, "livemode": False, "metadata": {},
        "next_action": None, "payment_method": method, "payment_method_types": ["card"],
        "setup_future_usage": None, "status": "requires_payment_method",
    }  # fmt: skip


def confirm(intent: dict[str, Any], decline: Decline | None) -> None:
    """Charges the card. Without a `decline` the payment succeeds. With one it fails, and needs another card."""
    intent["latest_charge"] = "ch_3" + secrets.token_hex(12)
    if decline is None:
        intent["status"], intent["amount_received"] = "succeeded", intent["amount"]
        return
    intent["status"] = "requires_payment_method"
    intent["last_payment_error"] = {
        "type": "card_error", "code": decline.code, "message": decline.message,
        "charge": intent["latest_charge"],
        "payment_method": cards.payment_method(
            intent["payment_method"], intent["customer"], intent["created"]
        ),
        **({"decline_code": decline.decline_code} if decline.decline_code else {}),
    }  # fmt: skip
    intent["payment_method"] = None


def paid(created: int, amount: int, currency: str) -> dict[str, Any]:
    """Returns a successful payment as a payment link makes it, without a customer."""
    intent = _intent(created, amount, currency, None, "pm_" + secrets.token_hex(12))
    confirm(intent, None)
    return intent


def listed(params: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Answers GET /v1/payment_intents: the payments that match the parameters, newest first. Raises StripeError if a
    parameter is invalid.
    """
    forms.only_known(params, ("customer", "created", "limit", "starting_after", "ending_before", "expand"))
    found, customer, after = rows[::-1], forms.text(params, "customer"), forms.text(params, "starting_after")
    if customer:
        found = [row for row in found if row["customer"] == customer]
    created = params.get("created") or {}
    bounds = created if isinstance(created, dict) else {"gte": created, "lte": created}
    for name, value in bounds.items():
        sign = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}.get(name)
        if sign is None or not str(value).isdecimal():
            raise StripeError(
                400, f"Invalid integer: {value}", "parameter_invalid_integer", f"created[{name}]"
            )
        found = [row for row in found if _compares(row["created"], sign, int(value))]
    if after:
        ids = [row["id"] for row in found]
        if after not in ids:
            raise no_such("payment_intent", after, "starting_after")
        found = found[ids.index(after) + 1 :]
    return _page("list", "/v1/payment_intents", found, params)


def searched(params: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Answers GET /v1/payment_intents/search: the payments that match the query, newest first. A query joins its
    clauses by AND or by OR, never by both. Raises StripeError if the query is invalid.
    """
    forms.only_known(params, ("query", "limit", "page", "expand"))
    query = forms.text(params, "query")
    if query is None:
        raise missing("query")
    either = " OR " in query
    parts = re.split(r"\s+(?:OR|AND)\s+", query)
    if either and " AND " in query:
        raise StripeError(400, "You may not mix AND and OR in the same query.", None, "query")
    clauses = [_CLAUSE.fullmatch(part) for part in parts]
    if None in clauses:
        raise StripeError(400, "We were unable to parse your search query. Try using the format "
                          "`metadata[\"key\"]:\"value\"` to query for metadata or key:\"value\" to query for other "
                          "fields.", None, "query")  # fmt: skip
    fits = any if either else all
    found = [row for row in rows[::-1] if fits(_matches(row, clause) for clause in clauses if clause)]
    return {**_page("search_result", "/v1/payment_intents/search", found, params), "next_page": None}


def _matches(row: dict[str, Any], clause: re.Match[str]) -> bool:
    held = row["metadata"].get(clause["key"]) if clause["key"] else row[clause["field"]]
    wanted = clause["text"] if clause["number"] is None else int(clause["number"])
    return (clause[1] == "-") != (held is not None and _compares(held, clause["op"], wanted))


def _compares(held: Any, sign: str, wanted: Any) -> bool:
    if sign == ":" or isinstance(held, str) or isinstance(wanted, str):
        return sign == ":" and str(held) == str(wanted)
    return bool({">": held > wanted, ">=": held >= wanted, "<": held < wanted, "<=": held <= wanted}[sign])


def _page(kind: str, url: str, rows: list[dict[str, Any]], params: dict[str, Any]) -> dict[str, Any]:
    limit = forms.integer(params, "limit", 10)
    if not 1 <= limit <= 100:
        raise StripeError(400, "This value must be between 1 and 100.", "parameter_invalid_integer", "limit")
    return {"object": kind, "url": url, "has_more": len(rows) > limit, "data": rows[:limit]}
