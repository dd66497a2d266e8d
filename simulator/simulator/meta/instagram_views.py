"""Handlers of reads of Instagram professional accounts (docs/platforms.md, section 3)."""

import base64
from datetime import timedelta
from typing import Any

from simulator.meta import facebook_views, paging
from simulator.meta.call import Call, Node
from simulator.meta.errors import invalid
from simulator.meta.fields import ABSENT, Field, View, project
from simulator.meta.paging import graph_time
from simulator.world import Comment, Post

_DAY = timedelta(days=1)
_METRICS = ("shares", "likes", "comments", "total_interactions")

operation_of_read = facebook_views.operation_of_read


def user(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{ig}: the requested fields of the account."""
    return project("IGUser", USER, node.thing, call.fields("id"), call)


def media_list(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{ig}/media: the account's posts, newest first."""
    posts = paging.between(call.sim.world.posts_of(node.account_id)[::-1], lambda post: post.created_at, call)
    return paging.page(posts, lambda post: post.post_id, lambda post: _show(call, post), call)


def media(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{media}: the requested fields of the post."""
    return _show(call, node.thing)


def children(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{media}/children: the ids of the photos and videos of a carousel."""
    return _children(node.thing)


def container(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{container}: the requested fields of the container."""
    return project("Container", CONTAINER, node.thing, call.fields("id"), call)


def comments(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{media}/comments: the top-level comments, newest first. The parameter `since` has no effect, as at
    Instagram.
    """
    items = [item for item in list(node.thing.comments) if item.parent_id is None][::-1]
    return paging.page(
        items, lambda item: item.comment_id, lambda item: _show_comment(call, item), call, default=50
    )


def replies(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{comment}/replies: the replies to a comment, newest first."""
    items = call.sim.world.replies_to(node.thing)[::-1]
    return paging.page(
        items, lambda item: item.comment_id, lambda item: _show_comment(call, item), call, default=50
    )


def comment(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{comment}: the requested fields of the comment."""
    return _show_comment(call, node.thing)


def insights(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{media}/insights: the counts that the parameter `metric` lists, such as `shares,likes`. Raises
    GraphError 100 for an unknown count.
    """
    post: Post = node.thing
    counts = {"shares": post.shares, "likes": post.likes, "comments": post.comment_count}
    counts["total_interactions"] = sum(counts.values())
    names = [name.strip() for name in call.text("metric").split(",")]
    if any(name not in _METRICS for name in names):
        raise invalid(f"metric must be one of the following values: {', '.join(_METRICS)}")
    return {
        "data": [
            {
                "name": name, "period": "lifetime", "values": [{"value": counts[name]}],
                "title": name.replace("_", " ").capitalize(), "description": f"The number of {name}.",
                "id": f"{post.post_id}/insights/{name}/lifetime",
            }
            for name in names
        ]
    }  # fmt: skip


def publishing_limit(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{ig}/content_publishing_limit: how many posts of the last 24 hours count against the limit."""
    quota = call.sim.told("instagram_quota", call.sim.settings.instagram_quota)
    values = {
        "quota_usage": published_today(call, node.account_id),
        "config": {"quota_total": quota, "quota_duration": 86400},
    }
    wanted = [field.name for field in call.fields("quota_usage")]
    if any(name not in values for name in wanted):
        raise invalid(f"Tried accessing nonexisting field ({', '.join(wanted)})")
    return {"data": [{name: values[name] for name in wanted}]}


def published_today(call: Call, account_id: str) -> int:
    """Returns the number of posts in the last 24 hours; a carousel counts as one."""
    since = call.sim.clock.now() - _DAY
    return sum(post.created_at > since for post in call.sim.world.posts_of(account_id))


def _show(call: Call, thing: Post) -> dict[str, Any]:
    return project("IGMedia", MEDIA, thing, call.fields("id"), call)


def _show_comment(call: Call, thing: Comment) -> dict[str, Any]:
    return project("IGComment", COMMENT, thing, call.fields("id,text,timestamp"), call)


def _shortcode(thing: Post) -> str:
    number = int(thing.post_id)
    return base64.urlsafe_b64encode((number * 0x9E3779B97F4A7C15 % 2**64).to_bytes(8, "big")).decode()[:11]


def _permalink(thing: Post, field: Field, call: Call) -> str:
    section = "reel" if thing.settings["media_type"] == "REELS" else "p"
    return f"https://www.instagram.com/{section}/{_shortcode(thing)}/"


def _media_type(thing: Post, field: Field, call: Call) -> str:
    kind: str = thing.settings["media_type"]
    return {"REELS": "VIDEO", "CAROUSEL": "CAROUSEL_ALBUM"}.get(kind, kind)


def _children(thing: Post) -> dict[str, Any]:
    return {"data": [{"id": f"{thing.post_id}{number:02d}"} for number in range(len(thing.media))]}


def _replies(thing: Comment, field: Field, call: Call) -> Any:
    items = call.sim.world.replies_to(thing)
    if not items:
        return ABSENT
    wanted = field.inner or (Field("timestamp"), Field("text"))
    return {"data": [project("IGComment", COMMENT, item, wanted, call) for item in items]}


def _author(thing: Comment, field: Field, call: Call) -> Any:
    """Returns the author of a comment that the account itself wrote. Other comments have no author here, because
    Instagram often omits it (docs/platforms.md, section 3).
    """
    post = call.sim.world.posts[thing.post_id]
    return {"id": thing.author_id, "username": thing.author} if thing.author_id == post.account_id else ABSENT


USER: View = {
    "id": lambda t, f, c: t.account_id,
    "username": lambda t, f, c: t.username,
    "name": lambda t, f, c: t.name,
    "profile_picture_url": lambda t, f, c: facebook_views.picture_url(c),
    "followers_count": lambda t, f, c: t.followers,
    "follows_count": lambda t, f, c: 12,
    "media_count": lambda t, f, c: len(c.sim.world.posts_of(t.account_id)),
}

MEDIA: View = {
    "id": lambda t, f, c: t.post_id,
    "caption": lambda t, f, c: t.text or ABSENT,
    "timestamp": lambda t, f, c: graph_time(t.created_at),
    "permalink": _permalink,
    "shortcode": lambda t, f, c: _shortcode(t),
    "username": lambda t, f, c: t.author,
    "owner": lambda t, f, c: {"id": t.account_id},
    "media_type": _media_type,
    "media_product_type": lambda t, f, c: "REELS" if t.settings["media_type"] == "REELS" else "FEED",
    "media_url": lambda t, f, c: t.media[0].url if len(t.media) == 1 else ABSENT,
    "children": lambda t, f, c: _children(t) if len(t.media) > 1 else ABSENT,
    "like_count": lambda t, f, c: t.likes,
    "comments_count": lambda t, f, c: t.comment_count,
    "is_ai_generated": lambda t, f, c: t.settings.get("is_ai_generated") == "true",
}

CONTAINER: View = {
    "id": lambda t, f, c: t.container_id,
    "status_code": lambda t, f, c: t.status(c.sim),
    "status": lambda t, f, c: t.status_text(c.sim),
}

COMMENT: View = {
    "id": lambda t, f, c: t.comment_id,
    "text": lambda t, f, c: t.text,
    "timestamp": lambda t, f, c: graph_time(t.created_at),
    "username": lambda t, f, c: t.author,
    "from": _author,
    "like_count": lambda t, f, c: 0,
    "hidden": lambda t, f, c: False,
    "parent_id": lambda t, f, c: t.parent_id or ABSENT,
    "media": lambda t, f, c: {"id": t.post_id},
    "replies": _replies,
}
