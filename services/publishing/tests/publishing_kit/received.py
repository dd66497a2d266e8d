"""Comments of visitors that a platform reports by its webhooks, and the events about them."""

import hashlib
import hmac
import json
import zlib
from datetime import UTC, datetime
from typing import Any

import msgspec

from contracts import publishing as api
from publishing.comments import hooks
from publishing.platforms.base import RemoteComment
from publishing.sending.context import SendingContext
from publishing_kit.world import World

SECRET = "app-secret"
VERIFY = "verify-me"
#: When the first visitor wrote.
VISITED_AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


def texts(world: World) -> list[str]:
    return [event.comment.text for event in world.told()]


def finish(world: World) -> None:
    world.run("UPDATE comments SET wake_at = clock_timestamp() WHERE wake_at IS NOT NULL")
    hooks.finish_comments(world.app)
    assert world.app.polling.wait_idle(10)


def hook_of(platform: str, account_id: str, post_id: str, *made: RemoteComment) -> dict[str, Any]:
    def change(one: RemoteComment) -> dict[str, Any]:
        if platform == "FB":
            value = {
                "item": "comment", "verb": "add", "comment_id": one.id, "post_id": post_id,
                "parent_id": one.parent_id or post_id, "message": one.text,
                "from": {"id": one.author_id, "name": one.author_name},
                "created_time": int(one.created_at.timestamp()),
            }  # fmt: skip
            return {"field": "feed", "value": value}
        author = {"id": one.author_id, "username": one.author_name}
        return {
            "field": "comments", "value": {"id": one.id, "text": one.text, "from": author, "media": {"id": post_id}},
        }  # fmt: skip

    kind = "page" if platform == "FB" else "instagram"
    entry = {"id": account_id, "time": int(VISITED_AT.timestamp()), "changes": [change(one) for one in made]}
    return {"object": kind, "entry": [entry]}


def send(app: SendingContext, platform: str, hook: Any, secret: str = SECRET) -> None:
    body = hook if isinstance(hook, bytes) else json.dumps(hook).encode()
    signature = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    name = {"FB": "facebook", "IG": "instagram"}.get(platform, platform)
    hooks.receive(app, api.ReceiveHook(platform=name, deflated_body=zlib.compress(body), signature=signature))


def account_of(world: World, post: api.PublishResult) -> str:
    return str(world.ask("SELECT remote_account_id FROM pages WHERE id = :id", id=post.page_id)[0][0])


def hook(world: World, post: api.PublishResult, *made: RemoteComment) -> dict[str, Any]:
    return hook_of(post.platform, account_of(world, post), post.platform_post_id or "", *made)


def on_instagram(world: World) -> api.PublishResult:
    """Returns a published post on Instagram. In these tests Instagram accepts it without a photo."""
    page = world.page()
    post = world.published(page)
    world.run("UPDATE pages SET platform = 'IG'")
    world.run("UPDATE posts SET platform = 'IG'")
    return msgspec.structs.replace(post, platform="IG")
