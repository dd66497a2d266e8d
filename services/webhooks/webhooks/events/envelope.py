"""Builds the body of a delivery, and finds the post that an event is about. No I/O."""

import re

import msgspec

from contracts.events import Event

#: The last three digits of `…_at`, `…At`, `…_time` and `at`: msgspec writes microseconds, our times have milliseconds.
#: A quotation mark inside a text is escaped, so that only keys match.
_MICROSECONDS = re.compile(rb'((?:_at|At|_time|"at)":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})000(?=Z")')


def body_of(event: Event) -> bytes:
    """Builds the envelope (decisions "Events") as it is signed, stored and sent: the same bytes at every attempt."""
    created_at = event.created_at.replace(microsecond=event.created_at.microsecond // 1000 * 1000)
    envelope = {"id": event.id, "event": event.event, "created_at": created_at, "data": event.data}
    return _MICROSECONDS.sub(rb"\1", msgspec.json.encode(envelope))


def post_of(event: Event) -> str | None:
    """Returns the id of the post that the event is about; None for other events."""
    post = event.data.get("post")
    found = post.get("id") if isinstance(post, dict) else event.data.get("postId")
    return found if isinstance(found, str) else None
