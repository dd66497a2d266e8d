"""The `webhooks` section of `/openapi.json`: one entry per event that a subscription can receive. Pure."""

from datetime import datetime
from typing import Any, Literal

import msgspec

from contracts.events import CLIENT_EVENTS
from contracts.record import Record
from gateway.openapi.examples import example_of
from gateway.openapi.field_texts import for_clients
from gateway.openapi.schemas import Schemas

_HEADERS = {
    "webhook-id": "The event's id, the same at every attempt: act on each id once.",
    "webhook-timestamp": "When this attempt was signed, in Unix seconds.",
    "webhook-signature": "Standard Webhooks: `v1,` and the base64 of an HMAC-SHA256; several are separated by spaces.",
    "X-Svc-Signature": "`sha256=` and the hexadecimal HMAC-SHA256 of the raw body.",
}
_ANSWERS = {
    "2XX": {"description": "Received. Anything else, or no answer within 10 seconds, is retried."},
    "410": {"description": "No longer wanted: the subscription is disabled."},
}


def envelope_of(event: str, data: type[Record]) -> Any:
    """Makes the record type of an event's whole body, such as PostPublishedEvent for `post.published`."""
    words = event.replace("_", ".").split(".")
    return msgspec.defstruct(
        "".join(map(str.capitalize, words)) + "Event",
        [("id", str), ("event", Literal[event]), ("created_at", datetime), ("data", data)],
        bases=(Record,),
        kw_only=True,
        module=__name__,
        namespace={"__doc__": f"The body of the event `{event}`."},
    )


#: The body of each event.
ENVELOPES: dict[str, Any] = {event: envelope_of(event, data) for event, data in CLIENT_EVENTS.items()}


def described_events(schemas: Schemas) -> dict[str, Any]:
    """Returns the section `webhooks` of the OpenAPI description: for each event, the request that a receiver gets."""
    return {event: {"post": _described(event, kind, schemas)} for event, kind in ENVELOPES.items()}


def _described(event: str, kind: Any, schemas: Schemas) -> dict[str, Any]:
    name = kind.__name__
    return {
        "operationId": "receive" + name.removesuffix("Event"),
        "tags": ["Events"],
        "summary": f"Receive {event}",
        "description": for_clients(CLIENT_EVENTS[event].__doc__ or ""),
        "security": [],
        "parameters": [
            {
                "name": header,
                "in": "header",
                "required": True,
                "description": text,
                "schema": {"type": "string"},
            }
            for header, text in _HEADERS.items()
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": schemas.of(kind), "example": example_of(kind)}},
        },
        "responses": _ANSWERS,
    }
