"""Handlers of reads of Facebook Pages (docs/platforms.md, section 2)."""

from collections.abc import Callable
from typing import Any

from simulator.accounts import Account
from simulator.meta import callers, paging
from simulator.meta.call import Call, Node
from simulator.meta.fields import ABSENT, Field, View, project
from simulator.meta.paging import graph_time
from simulator.world import Comment, Medium, Post


def page(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{page}: the requested fields of the page."""
    return project("Page", PAGE, node.thing, call.fields("id,name"), call)


def feed(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{page}/feed, /posts and /published_posts: the posts, newest first. A post with a video is listed
    once the video is processed.
    """
    posts = [post for post in call.sim.world.posts_of(node.account_id)[::-1] if _is_ready(call, post)]
    posts = paging.between(posts, lambda post: post.created_at, call)
    fields = "created_time,message,id"
    return paging.page(posts, lambda post: post.post_id, lambda post: show_post(call, post, fields), call)


def _is_ready(call: Call, post: Post) -> bool:
    film = call.sim.world.staged.get(post.media[0].medium_id) if post.media else None
    return call.sim.clock.ticks() >= getattr(film, "ready_ticks", 0.0)


def post(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{post}: the requested fields of the post."""
    return show_post(call, node.thing, "created_time,message,id")


def operation_of_read(call: Call) -> str:
    """Returns the operation under which a test can plan a fault for this read: `engagement` if it asks for counts,
    otherwise `status`.
    """
    wanted = {field.name for field in call.fields("id")}
    counts = {"reactions", "likes", "comments", "shares", "like_count", "comments_count"}
    return "engagement" if wanted & counts else "status"


def show_post(call: Call, thing: Post, default: str) -> dict[str, Any]:
    """Returns the requested fields of a post, or the fields in `default`."""
    return project("Post", POST, thing, call.fields(default), call)


def comment(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{comment}: the requested fields of the comment."""
    return show_comment(call, node.thing, "created_time,from,message,id")


def show_comment(call: Call, thing: Comment, default: str) -> dict[str, Any]:
    """Returns the requested fields of a comment, or the fields in `default`."""
    return project("Comment", COMMENT, thing, call.fields(default), call)


def comments(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET of the comments on a post or video, or of the replies to a comment. With a user's token the list is
    empty, as at Facebook.
    """
    if call.caller.platform == callers.USER.platform:
        return {"data": []}
    if node.kind == "Comment":
        items = call.sim.world.replies_to(node.thing)
    else:
        whole: Post = node.thing.post if node.kind == "Video" else node.thing
        stream = call.text("filter") == "stream"
        items = [item for item in list(whole.comments) if stream or item.parent_id is None]
    if call.text("order") == "reverse_chronological":
        items.reverse()
    items = paging.between(items, lambda item: item.created_at, call)
    fields = "created_time,from,message,id"
    return paging.page(
        items, lambda item: item.comment_id, lambda item: show_comment(call, item, fields), call
    )


def videos(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{page}/videos: the page's videos, newest first."""
    kept = list(call.sim.world.staged.values())
    mine = [one for one in kept if getattr(one, "kind", "") == "Video" and one.account_id == node.account_id]
    mine = [one for one in mine[::-1] if not one.is_begun]
    fields = call.fields("id,description")
    return paging.page(
        mine, lambda one: one.video_id, lambda one: project("Video", VIDEO, one, fields, call), call
    )


def reactions(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{post}/reactions and /likes with an empty list; with `summary`, also the number of reactions."""
    answer: dict[str, Any] = {"data": []}
    if call.flag("summary", False):
        answer["summary"] = {"total_count": node.thing.likes, "viewer_reaction": "NONE"}
    return answer


def photo(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{photo}: the requested fields of the photo."""
    return project("Photo", PHOTO, node.thing, call.fields("id,name"), call)


def show_video(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{video}: the requested fields of the video."""
    return project("Video", VIDEO, node.thing, call.fields("id,description"), call)


def post_permalink(thing: Post) -> str:
    """Returns the URL of a post: /reel/ and the video's id for a video, otherwise /{page}/posts/{post}."""
    if thing.media and thing.media[0].type == "video":
        return f"https://www.facebook.com/reel/{thing.media[0].medium_id}"
    return f"https://www.facebook.com/{thing.account_id}/posts/{thing.post_id.rsplit('_', 1)[-1]}"


def page_token(call: Call, page: Account) -> str:
    """Returns an access token of the page with the permissions of the caller's token."""
    facts: dict[str, Any] = {} if call.scopes is None else {"scopes": sorted(call.scopes)}
    return call.sim.accounts.token(page, **facts)


def picture_url(call: Call) -> str:
    """Returns the URL of an account's picture, which is the same for all accounts."""
    return f"{call.base_url}media/photo-200x200.jpg"


def _total(count: Callable[[Post], int], **more: Any) -> Callable[[Post, Field, Call], dict[str, Any]]:
    """Returns a function that shows a list of a post, such as its `likes`. The function shows the list as empty. If the
    requested field has the modifier `.summary(…)`, it adds the total that `count` returns.
    """

    def read(thing: Post, field: Field, call: Call) -> dict[str, Any]:
        answer: dict[str, Any] = {"data": []}
        if field.modifier("summary"):
            answer["summary"] = {"total_count": count(thing), **more}
        return answer

    return read


def _comments_edge(thing: Post, field: Field, call: Call) -> dict[str, Any]:
    answer = _total(lambda one: one.comment_count, order="chronological", can_comment=True)(
        thing, field, call
    )
    if field.modifier("limit") != "0" and call.caller.platform != callers.USER.platform:
        wanted = field.inner or (Field("created_time"), Field("from"), Field("message"))
        top = [item for item in thing.comments if item.parent_id is None][
            : int(field.modifier("limit") or 25)
        ]
        answer["data"] = [project("Comment", COMMENT, item, wanted, call) for item in top]
    return answer


def _attachments(thing: Post, field: Field, call: Call) -> Any:
    rows = [_attachment(item) for item in thing.media]
    if len(rows) > 1:
        rows = [{"type": "album", "media_type": "album", "subattachments": {"data": rows}}]
    elif not rows and "link" in thing.settings:
        # The target of a shared link has a URL and no id.
        link = thing.settings["link"]
        rows = [{"type": "share", "media_type": "link", "url": link, "target": {"url": link}}]
    return {"data": rows} if rows else ABSENT


def _attachment(item: Medium) -> dict[str, Any]:
    kind = "video_inline" if item.type == "video" else "photo"
    row = {"type": kind, "media_type": item.type, "target": {"id": item.medium_id}}
    return {**row, "media": {"image": {"src": item.url}}} if item.url else row


def _parent(thing: Comment, field: Field, call: Call) -> Any:
    parent = call.sim.world.comments.get(thing.parent_id or "")
    if parent is None:
        return ABSENT
    names = field.inner or (Field("created_time"), Field("from"), Field("message"))
    return project("Comment", COMMENT, parent, names, call)


def _video_status(thing: Any, field: Field, call: Call) -> dict[str, Any]:
    done = {"status": "complete"}
    if thing.failed:
        phase = {"status": "error", "errors": [{"code": 1363030, "message": "Video processing failed"}]}
        return {"video_status": "error", "uploading_phase": done, "processing_phase": phase}
    if thing.is_begun:
        waiting = {"status": "not_started"}
        return {"video_status": "upload_complete", "uploading_phase": {"status": "in_progress"},
                "processing_phase": waiting, "publishing_phase": waiting}  # fmt: skip
    if call.sim.clock.ticks() < thing.ready_ticks:
        waiting = {"status": "not_started"}
        running = {"status": "in_progress"}
        return {"video_status": "processing", "uploading_phase": done, "processing_phase": running,
                "publishing_phase": waiting}  # fmt: skip
    published = {
        "status": "complete",
        "publish_status": "published",
        "publish_time": graph_time(thing.post.created_at),
    }
    return {
        "video_status": "ready",
        "uploading_phase": done,
        "processing_phase": done,
        "publishing_phase": published,
    }


def _video_post_id(thing: Any, field: Field, call: Call) -> Any:
    late = call.sim.clock.ticks() < thing.post_id_ticks
    return ABSENT if late or thing.failed or thing.is_begun else thing.post.post_id


def _owner(thing: Post, field: Field, call: Call) -> dict[str, str]:
    return {"id": thing.account_id, "name": thing.author}


PAGE: View = {
    "id": lambda t, f, c: t.account_id,
    "name": lambda t, f, c: t.name,
    "username": lambda t, f, c: t.username,
    "link": lambda t, f, c: f"https://www.facebook.com/{t.account_id}",
    "category": lambda t, f, c: "Local service",
    "followers_count": lambda t, f, c: t.followers,
    "fan_count": lambda t, f, c: t.followers,
    "picture": lambda t, f, c: {
        "data": {"height": 200, "width": 200, "is_silhouette": False, "url": picture_url(c)}
    },
    "access_token": lambda t, f, c: page_token(c, t),
    "tasks": lambda t, f, c: ["ANALYZE", "ADVERTISE", "MESSAGING", "MODERATE", "CREATE_CONTENT", "MANAGE"],
    "instagram_business_account": lambda t, f, c: {
        "id": callers.linked_instagram_id(t.account_id), "username": t.username, "name": t.name,
        "profile_picture_url": picture_url(c), "followers_count": t.followers,
    },
}  # fmt: skip

POST: View = {
    "id": lambda t, f, c: t.post_id,
    "message": lambda t, f, c: t.text or ABSENT,
    "created_time": lambda t, f, c: graph_time(t.created_at),
    "updated_time": lambda t, f, c: graph_time(t.created_at),
    "permalink_url": lambda t, f, c: post_permalink(t),
    "is_published": lambda t, f, c: t.post_id in c.sim.world.posts,
    "from": _owner,
    "attachments": _attachments,
    "reactions": _total(lambda t: t.likes),
    "likes": _total(lambda t: t.likes, can_like=True, has_liked=False),
    "comments": _comments_edge,
    # Omitted at zero (platforms.md 2).
    "shares": lambda t, f, c: {"count": t.shares} if t.shares else ABSENT,
}

COMMENT: View = {
    "id": lambda t, f, c: t.comment_id,
    "message": lambda t, f, c: t.text,
    "created_time": lambda t, f, c: graph_time(t.created_at),
    "from": lambda t, f, c: {"id": t.author_id, "name": t.author} if t.author_id else ABSENT,
    "comment_count": lambda t, f, c: len(c.sim.world.replies_to(t)),
    "like_count": lambda t, f, c: 0,
    "is_hidden": lambda t, f, c: False,
    "permalink_url": lambda t, f, c: f"https://www.facebook.com/{t.post_id}?comment_id={t.comment_id}",
    "parent": _parent,
}

PHOTO: View = {
    "id": lambda t, f, c: t.photo_id,
    "name": lambda t, f, c: t.caption or ABSENT,
    "link": lambda t, f, c: f"https://www.facebook.com/photo.php?fbid={t.photo_id}",
    "page_story_id": lambda t, f, c: t.post_id or ABSENT,
}

VIDEO: View = {
    "id": lambda t, f, c: t.video_id,
    "status": _video_status,
    "published": lambda t, f, c: not t.failed,
    "description": lambda t, f, c: t.post.text or ABSENT,
    "title": lambda t, f, c: t.post.settings.get("title", ABSENT),
    "created_time": lambda t, f, c: graph_time(t.post.created_at),
    "permalink_url": lambda t, f, c: f"/reel/{t.video_id}/",
    "post_id": _video_post_id,
}
