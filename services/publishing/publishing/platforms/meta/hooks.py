"""Reads Meta's webhooks about comments: checks their signature and returns the comments (docs/platforms.md, section 1).
Pure.

A webhook is a batch of changes. It may arrive more than once, and may contain anything. Everything but new comments is
ignored.
"""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

from publishing.platforms.base import RemoteComment
from publishing.platforms.hooks import HookComment, Hooks, NoHook
from publishing.platforms.http_client import objects
from publishing.platforms.meta.settings import MetaSettings

_OBJECTS = {"FB": "page", "IG": "instagram"}
_UNNAMED = {"FB": "Facebook user", "IG": "Instagram user"}
#: Longer than any id of Meta's.
_ID_LENGTH = 200
#: Larger times are in milliseconds.
_MILLISECONDS = 10**11


def hooks_of(platform: str, secrets: Callable[[MetaSettings], Iterable[str]]) -> Hooks:
    """Returns the functions that read the webhooks of FB or IG. `secrets` returns the app secrets with which a webhook
    may be signed; empty ones are ignored."""
    return Hooks(
        is_set_up=lambda at: bool(at.app_secret and at.verify_token),
        verify_token=lambda at: at.verify_token,
        is_signed=lambda at, body, signature: is_signed(body, signature, secrets(at)),
        comments_in=partial(comments_in, platform),
    )


def is_signed(body: bytes, signature: str, secrets: Iterable[str]) -> bool:
    """Whether `signature` is `sha256=<hex>` with the HMAC of the raw body by one of the app's secrets."""
    given = signature.strip().encode("ascii", "replace")
    matches = [
        hmac.compare_digest(
            given, b"sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest().encode()
        )
        for secret in secrets
        if secret
    ]
    return any(matches)


def comments_in(platform: str, body: bytes) -> list[HookComment]:
    """Reads the new comments from a webhook of FB or IG, in the webhook's order. Raises NoHook if the body is not a
    JSON object.
    """
    try:
        hook = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NoHook from error
    if not isinstance(hook, dict):
        raise NoHook
    if hook.get("object") != _OBJECTS[platform]:
        return []
    read = {"FB": _of_facebook, "IG": _of_instagram}[platform]
    found = (
        read(account_id, value, _time(entry.get("time")))
        for entry in objects(hook.get("entry"))
        if (account_id := _id(entry.get("id")))
        for value in _values(entry, {"FB": "feed", "IG": "comments"}[platform])
    )
    return [comment for comment in found if comment is not None]


def _of_facebook(account_id: str, value: dict[str, Any], sent_at: datetime | None) -> HookComment | None:
    if value.get("item") != "comment" or value.get("verb") != "add":
        return None
    comment_id, post_id = _id(value.get("comment_id")), _id(value.get("post_id"))
    parent_id = _id(value.get("parent_id")) or None
    if not comment_id or not post_id:
        return None
    author, made_at = _object(value.get("from")), _time(value.get("created_time"))
    return _comment(
        "FB", account_id, post_id, comment_id, made_at or sent_at, author, author.get("name"),
        text=value.get("message"), parent_id=None if parent_id == post_id else parent_id,
        is_whole=made_at is not None and bool(_id(author.get("id"))),
    )  # fmt: skip


def _of_instagram(account_id: str, value: dict[str, Any], sent_at: datetime | None) -> HookComment | None:
    comment_id, post_id = _id(value.get("id")), _id(_object(value.get("media")).get("id"))
    if not comment_id or not post_id:
        return None
    author = _object(value.get("from"))
    return _comment(
        "IG", account_id, post_id, comment_id, sent_at, author, author.get("username"),
        text=value.get("text"), parent_id=_id(value.get("parent_id")) or None,
        is_whole=False,  # its time is missing
    )  # fmt: skip


def _comment(
    platform: str,
    account_id: str,
    post_id: str,
    comment_id: str,
    at: datetime | None,
    author: dict[str, Any],
    author_name: Any,
    *,
    text: Any,
    parent_id: str | None,
    is_whole: bool,
) -> HookComment:
    comment = RemoteComment(
        id=comment_id,
        text=_text(text),
        author_id=_id(author.get("id")),
        author_name=_text(author_name) or _UNNAMED[platform],
        created_at=at or datetime.now(UTC).replace(microsecond=0),
        parent_id=parent_id,
    )
    return HookComment(account_id, post_id, comment, is_whole)


def _values(entry: dict[str, Any], field: str) -> Iterator[dict[str, Any]]:
    for change in objects(entry.get("changes")):
        if change.get("field") == field:
            yield _object(change.get("value"))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _id(value: Any) -> str:
    """Returns an id as text; empty if the value is not an id."""
    given = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return given if len(given) <= _ID_LENGTH and given.isascii() and given.isprintable() else ""


def _text(value: Any) -> str:
    """Returns a text without NUL and lone surrogates, which PostgreSQL and JSON refuse; empty if the value is not a
    text."""
    text = value if isinstance(value, str) else ""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def _time(value: Any) -> datetime | None:
    """Converts Unix seconds or milliseconds to a time in UTC; None if the value is not a time."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return datetime.fromtimestamp(int(value / 1000 if value > _MILLISECONDS else value), UTC)
    except (OverflowError, OSError, ValueError):
        return None
