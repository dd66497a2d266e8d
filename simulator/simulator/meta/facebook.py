"""Handlers of writes to Facebook Pages (docs/platforms.md, section 2). Handlers of reads are in facebook_views.py."""

import json
from dataclasses import dataclass, replace
from typing import Any

from simulator.meta import facebook_views, media, uploads
from simulator.meta.call import Call, Edge, Edges, Handler, Node
from simulator.meta.errors import GraphError, invalid
from simulator.world import Comment, Medium, Post

TEXT_LIMIT = 63_206
PHOTOS_PER_POST = 10


@dataclass(slots=True)
class Photo:
    """A photo with an id of its own. It is unpublished until a post contains it."""

    photo_id: str
    account_id: str
    medium: Medium
    caption: str
    post_id: str | None = None
    kind = "Photo"
    platform = "FB"


@dataclass(slots=True)
class Video:
    """A video with an id of its own. It is processed until `ready_ticks`, and reports its post's id from
    `post_id_ticks` on (times of `Clock.ticks`).
    """

    video_id: str
    account_id: str
    post: Post
    ready_ticks: float
    post_id_ticks: float
    failed: bool = False
    #: Whether the video is uploaded in pieces and not finished.
    is_begun: bool = False
    kind = "Video"
    platform = "FB"


def publish_feed(call: Call, page: Node) -> dict[str, Any]:
    """Answers POST /{page}/feed: creates a post. With `published=false` the post is unpublished."""
    message, link = call.text("message"), call.text("link")
    _check_text(message)
    if link and not link.lower().startswith(("http://", "https://")):
        raise invalid("link URL is not properly formatted")
    with call.sim.world.lock:
        photos = [_unused_photo(call, page, photo_id) for photo_id in _attached_ids(call)]
        if not message and not link and not photos:
            raise invalid("The post is empty. Please enter a message to share.", 1349125)
        settings = {"link": link} if link else {}
        post = _new_post(call, page, message, [photo.medium for photo in photos], settings)
        if call.flag("published", True):
            call.sim.world.add_post(post)
        else:
            call.sim.world.staged[post.post_id] = post
        for photo in photos:
            photo.post_id = post.post_id
    return facebook_views.show_post(call, post, "id")


def publish_waiting(call: Call, node: Node) -> dict[str, Any]:
    """Answers POST /{post}. With `is_published=true` publishes a post that was created as unpublished; otherwise
    changes nothing.
    """
    world = call.sim.world
    with world.lock:
        if call.flag("is_published", False) and world.staged.pop(node.node_id, None):
            world.add_post(node.thing)
    return {"success": True}


def publish_photo(call: Call, page: Node) -> dict[str, Any]:
    """Answers POST /{page}/photos: publishes a photo, or with `published=false` stores it for a later post."""
    message = call.text("message") or call.text("caption")
    _check_text(message)
    medium = media.facebook_photo(call)
    photo_id = call.sim.world.new_id("12")
    medium = replace(medium, medium_id=photo_id, alt_text=call.text("alt_text_custom"))
    photo = Photo(photo_id, page.account_id, medium, message)
    call.sim.world.staged[photo_id] = photo
    if not call.flag("published", True):
        return {"id": photo_id}
    post = _new_post(call, page, message, [medium], {})
    photo.post_id = post.post_id
    call.sim.world.add_post(post)
    return {"id": photo_id, "post_id": post.post_id}


def publish_video(call: Call, page: Node) -> dict[str, Any]:
    """Answers POST /{page}/videos: publishes a video and returns its id, or handles one phase of an upload in pieces
    (`upload_phase`). The video reports its post's id only after it has been processed.
    """
    phase = call.text("upload_phase")
    if phase:
        if phase not in _PHASES:
            raise invalid("Param upload_phase must be one of start, transfer, finish")
        return _PHASES[phase](call, page)
    _check_text(call.text("description"))
    video_id = call.sim.world.new_id("13")
    _add_video(call, page, replace(media.facebook_video(call), medium_id=video_id))
    return {"id": video_id}


def _add_video(call: Call, page: Node, medium: Medium, *, is_begun: bool = False) -> None:
    settings = {name: call.text(name) for name in ("title", "is_ai_generated") if call.text(name)}
    post = _new_post(call, page, call.text("description"), [medium], settings)
    if not is_begun:
        call.sim.world.add_post(post)
    seconds, video_id = call.sim.film_seconds("FB"), medium.medium_id
    ready = call.sim.clock.ticks() + seconds
    made = Video(video_id, page.account_id, post, ready, ready + seconds / 2, is_begun=is_begun)
    call.sim.world.staged[video_id] = made


def _start_video(call: Call, page: Node) -> dict[str, Any]:
    session, told = uploads.start(call, page)
    _add_video(call, page, Medium("video", session.size_bytes, medium_id=session.video_id), is_begun=True)
    return told


def _finish_video(call: Call, page: Node) -> dict[str, Any]:
    _check_text(call.text("description"))
    _add_video(call, page, uploads.finish(call, page))
    return {"success": True}


#: Value of `upload_phase` in POST /{page}/videos → handler.
_PHASES: dict[str, Handler] = {
    "start": _start_video,
    "transfer": uploads.transfer,
    "finish": _finish_video,
}


def fail_video(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{video} when a test has planned a fault of the mode `reject` for it. Marks the video as failed,
    removes its post, and returns the video's requested fields.
    """
    node.thing.failed = True
    call.sim.world.remove_post(node.thing.post.post_id)
    return facebook_views.show_video(call, node)


def add_comment(call: Call, node: Node) -> dict[str, Any]:
    """Answers POST /{post}/comments and POST /{video}/comments: adds a comment to the post."""
    post: Post = node.thing.post if node.kind == "Video" else node.thing
    return _comment(call, post, None)


def add_reply(call: Call, node: Node) -> dict[str, Any]:
    """Answers POST /{comment}/comments: adds a reply. A reply to a reply becomes a reply to the top-level comment."""
    comment: Comment = node.thing
    return _comment(call, call.sim.world.posts[comment.post_id], comment.parent_id or comment.comment_id)


def delete(call: Call, node: Node) -> dict[str, Any]:
    """Answers DELETE of a photo, video, post or comment."""
    world = call.sim.world
    if node.kind == "Video":
        world.remove_post(node.thing.post.post_id)
    if node.kind == "Post":
        world.remove_post(node.node_id)
        world.staged.pop(node.node_id, None)
    elif node.kind == "Comment":
        world.remove_comment(node.node_id)
    else:
        world.staged.pop(node.node_id, None)
    return {"success": True}


def _check_text(message: str) -> None:
    if len(message) > TEXT_LIMIT:
        raise invalid(f"Param message must be at most {TEXT_LIMIT} characters long")


def _attached_ids(call: Call) -> list[str]:
    """Returns the photo ids in `attached_media`, which may be JSON text, a JSON list, or form keys such as
    `attached_media[0]`. Raises GraphError 100 if it is malformed, has an id twice or has more than ten ids.
    """
    given = call.params.get("attached_media")
    try:
        rows = json.loads(given) if isinstance(given, str) else list(given or [])
        for number in range(PHOTOS_PER_POST + 1):
            key = f"attached_media[{number}]"
            if key in call.params:
                rows.append(json.loads(call.text(key)))
            elif f"{key}[media_fbid]" in call.params:
                rows.append({"media_fbid": call.text(f"{key}[media_fbid]")})
        ids = [str(row["media_fbid"]) for row in rows]
    except (ValueError, TypeError, KeyError) as problem:
        raise invalid("Param attached_media must be an array of objects with media_fbid") from problem
    if len(ids) > PHOTOS_PER_POST or len(set(ids)) != len(ids):
        raise invalid(f"Param attached_media takes up to {PHOTOS_PER_POST} different photos")
    return ids


def _unused_photo(call: Call, page: Node, photo_id: str) -> Photo:
    photo = call.sim.world.staged.get(photo_id)
    if not isinstance(photo, Photo) or photo.account_id != page.account_id:
        raise invalid(f"Object with id {photo_id} is no photo of this page")
    if photo.post_id is not None:
        raise GraphError(100, "These photos were already posted.", 1366051, title="Photos already posted")
    return photo


def _new_post(call: Call, page: Node, text: str, items: list[Medium], settings: dict[str, Any]) -> Post:
    """Returns a new post, which is not stored yet."""
    post_id = call.sim.world.new_id(f"{page.account_id}_")
    now = call.sim.clock.now()
    return Post(post_id, page.account_id, "FB", page.thing.name, text, items, now, settings=settings)


def _comment(call: Call, post: Post, parent_id: str | None) -> dict[str, Any]:
    message = call.text("message")
    if not message:
        raise invalid("Param message is required for a comment without attachment")
    if post.post_id not in call.sim.world.posts:
        raise invalid("An unpublished post takes no comments")
    comment = call.sim.comment(post, post.account_id, post.author, message, parent_id)
    return facebook_views.show_comment(call, comment, "id")


def _whole_or_piece(call: Call) -> str:
    """Returns the operation under which a test can plan a fault for this call: `upload` for the phases start and
    transfer of an upload in pieces, otherwise `publish`.
    """
    return "upload" if call.text("upload_phase") in ("start", "transfer") else "publish"


def _visible_or_staged(call: Call) -> str:
    """Returns the operation under which a test can plan a fault for this call: `upload` with `published=false`,
    otherwise `publish`.
    """
    return "publish" if call.flag("published", True) else "upload"


EDGES: Edges = {
    ("POST", "Page", "feed"): Edge(_visible_or_staged, publish_feed),
    ("POST", "Page", "photos"): Edge(_visible_or_staged, publish_photo),
    ("POST", "Page", "videos"): Edge(_whole_or_piece, publish_video),
    ("POST", "Post", ""): Edge("publish", publish_waiting),
    ("POST", "Post", "comments"): Edge("comment", add_comment),
    ("POST", "Video", "comments"): Edge("comment", add_comment),
    ("POST", "Comment", "comments"): Edge("reply", add_reply),
    ("DELETE", "Photo", ""): Edge(None, delete),
    ("DELETE", "Video", ""): Edge(None, delete),
    ("DELETE", "Post", ""): Edge(None, delete),
    ("DELETE", "Comment", ""): Edge(None, delete),
    ("GET", "Page", ""): Edge("profile", facebook_views.page),
    ("GET", "Page", "feed"): Edge("status", facebook_views.feed),
    ("GET", "Page", "posts"): Edge("status", facebook_views.feed),
    ("GET", "Page", "published_posts"): Edge("status", facebook_views.feed),
    ("GET", "Page", "videos"): Edge("status", facebook_views.videos),
    ("GET", "Post", ""): Edge(facebook_views.operation_of_read, facebook_views.post),
    ("GET", "Post", "comments"): Edge("comments", facebook_views.comments),
    ("GET", "Post", "reactions"): Edge("engagement", facebook_views.reactions),
    ("GET", "Post", "likes"): Edge("engagement", facebook_views.reactions),
    ("GET", "Video", "comments"): Edge("comments", facebook_views.comments),
    ("GET", "Comment", ""): Edge("comments", facebook_views.comment),
    ("GET", "Comment", "comments"): Edge("comments", facebook_views.comments),
    ("GET", "Photo", ""): Edge("status", facebook_views.photo),
    ("GET", "Video", ""): Edge("status", facebook_views.show_video, on_reject=fail_video),
}
