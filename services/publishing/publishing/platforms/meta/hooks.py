"""Meta's own calls about comments: their signature, and what they say (platforms.md 1). Pure.

A call is a batch, comes more than once, and may hold anything besides: what is no new comment is passed over.
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
from publishing.platforms.meta.settings import MetaSettings

_OBJECTS = {"FB": "page", "IG": "instagram"}
_NAMELESS = {"FB": "Facebook user", "IG": "Instagram user"}
#: Longer than any id of theirs.
_ID_LENGTH = 200
#: Times past it are in milliseconds.
_MILLISECONDS = 10**11


def hooks_of(platform: str, secrets: Callable[[MetaSettings], Iterable[str]]) -> Hooks:
    """Of FB or IG. `secrets`: whatever may sign its calls; empty ones sign nothing."""
    return Hooks(
        is_set_up=lambda at: bool(at.app_secret and at.verify_token),
        verify_token=lambda at: at.verify_token,
        is_signed=lambda at, body, signature: is_signed(body, signature, secrets(at)),
        comments_in=partial(comments_in, platform),
    )


def is_signed(body: bytes, signature: str, secrets: Iterable[str]) -> bool:
    """Whether `sha256=<hex>` is the raw body's HMAC with any of the app's secrets."""
    given = signature.strip().encode("ascii", "replace")
    fits = [
        hmac.compare_digest(
            given, b"sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest().encode()
        )
        for secret in secrets
        if secret
    ]
    return any(fits)


def comments_in(platform: str, body: bytes) -> list[HookComment]:
    """The new comments a call of FB or IG tells of, in its order. Raises NoHook."""
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
        for entry in _objects(hook.get("entry"))
        if (account_id := _id(entry.get("id")))
        for value in _values(entry, {"FB": "feed", "IG": "comments"}[platform])
    )
    return [comment for comment in found if comment is not None]


def _of_facebook(account_id: str, value: dict[str, Any], told_at: datetime | None) -> HookComment | None:
    if value.get("item") != "comment" or value.get("verb") != "add":
        return None
    comment_id, post_id = _id(value.get("comment_id")), _id(value.get("post_id"))
    parent_id = _id(value.get("parent_id")) or None
    if not comment_id or not post_id:
        return None
    author, made_at = _object(value.get("from")), _time(value.get("created_time"))
    return _told(
        "FB", account_id, post_id, comment_id, made_at or told_at, author, author.get("name"),
        text=value.get("message"), parent_id=None if parent_id == post_id else parent_id,
        is_whole=made_at is not None and bool(_id(author.get("id"))),
    )  # fmt: skip


def _of_instagram(account_id: str, value: dict[str, Any], told_at: datetime | None) -> HookComment | None:
    comment_id, post_id = _id(value.get("id")), _id(_object(value.get("media")).get("id"))
    if not comment_id or not post_id:
        return None
    author = _object(value.get("from"))
    return _told(
        "IG", account_id, post_id, comment_id, told_at, author, author.get("username"),
        text=value.get("text"), parent_id=_id(value.get("parent_id")) or None,
        is_whole=False,  # when it was made is not said
    )  # fmt: skip


def _told(
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
        author_name=_text(author_name) or _NAMELESS[platform],
        created_at=at or datetime.now(UTC).replace(microsecond=0),
        parent_id=parent_id,
    )
    return HookComment(account_id, post_id, comment, is_whole)


def _values(entry: dict[str, Any], field: str) -> Iterator[dict[str, Any]]:
    for change in _objects(entry.get("changes")):
        if change.get("field") == field:
            yield _object(change.get("value"))


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _id(value: Any) -> str:
    """An id as text; empty when it is none."""
    given = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return given if len(given) <= _ID_LENGTH and given.isascii() and given.isprintable() else ""


def _text(value: Any) -> str:
    """As PostgreSQL and JSON take it: no NUL, no lone surrogates."""
    text = value if isinstance(value, str) else ""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def _time(value: Any) -> datetime | None:
    """Unix seconds or milliseconds in UTC; None for what is no time."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return datetime.fromtimestamp(int(value / 1000 if value > _MILLISECONDS else value), UTC)
    except (OverflowError, OSError, ValueError):
        return None
