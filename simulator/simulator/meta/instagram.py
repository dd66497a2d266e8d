"""Handlers of writes to Instagram accounts (docs/platforms.md, section 3). The handlers of reads are in
instagram_views.py.
"""

from typing import Any

from simulator.meta import instagram_views
from simulator.meta.call import Call, Edge, Edges, Node
from simulator.meta.containers import CHILDREN, Container, checked_caption, find_container, photo_of, video_of
from simulator.meta.errors import GraphError, invalid
from simulator.world import Comment, Medium, Post

_NOT_READY = GraphError(
    9007,
    "Media ID is not available",
    2207027,
    title="The media is not ready for publishing, please wait for a moment",
)


def create_container(call: Call, user: Node) -> dict[str, Any]:
    """Answers POST /{ig}/media: creates a container for an image, a reel, a child of a carousel, or a carousel."""
    kind = call.text("media_type").upper() or "IMAGE"
    child = call.flag("is_carousel_item", False)
    if child and call.text("is_ai_generated"):
        # Meta: "For carousels, set is_ai_generated on the carousel container only." That it is refused on a child is
        # our choice: if it were ignored, tests would not notice our mistake.
        raise invalid("The parameter is_ai_generated belongs to the carousel")
    container = Container(
        call.sim.world.new_id("179"), user.account_id, kind, child, call.sim.clock.now(),
        caption="" if child else checked_caption(call.text("caption")),
    )  # fmt: skip
    if kind == "CAROUSEL":
        _fill_carousel(call, user, container)
    elif kind == "IMAGE":
        container.media = photo_of(call)
    elif kind == ("VIDEO" if child else "REELS"):
        container.media = video_of(call)
    else:
        raise invalid(
            f"The media type {kind} is not supported here; use REELS, or VIDEO within a carousel", 2207023
        )
    container.settings = {
        name: call.text(name)
        for name in ("alt_text", "children", "cover_url", "thumb_offset", "share_to_feed", "is_ai_generated")
        if call.text(name)
    }
    is_film = kind in ("VIDEO", "REELS")
    seconds = call.sim.film_seconds("IG") if is_film else call.sim.settings.processing_seconds
    container.ready_ticks = call.sim.clock.ticks() + seconds
    call.sim.world.staged[container.container_id] = container
    return {"id": container.container_id}


def publish(call: Call, user: Node) -> dict[str, Any]:
    """Answers POST /{ig}/media_publish: publishes a container. Raises GraphError if the container's status is not
    FINISHED, if it is a child of a carousel, or if the account has published too many posts in 24 hours.
    """
    world = call.sim.world
    with world.lock:
        container = find_container(call, user, call.text("creation_id"))
        state = container.status(call.sim)
        if state == "EXPIRED":
            raise GraphError(-2, "The media container has expired. Create a new one.", 2207020)
        if state == "PUBLISHED":
            # The code is our choice: the documentation names none for this case; it has this one for media that are
            # not found.
            raise GraphError(24, "The requested resource does not exist: it was published already.", 2207006)
        if state != "FINISHED" or container.is_child:
            raise _NOT_READY
        if instagram_views.published_today(call, user.account_id) >= call.sim.settings.instagram_quota:
            raise GraphError(9, "Application request limit reached: content publishing limit.", 2207042)
        post = Post(
            world.new_id("180"), user.account_id, "IG", user.thing.username, container.caption,
            _settled(container), call.sim.clock.now(),
            settings={
                "media_type": container.media_kind,
                "creation_id": container.container_id,
                **container.settings,
            },
        )  # fmt: skip
        container.media_id = post.post_id
        world.add_post(post)
    return {"id": post.post_id}


def fail_container(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{container} when a test has planned a fault of the mode `reject` for it. Sets the container's status
    to ERROR and returns its requested fields.
    """
    node.thing.error = GraphError(-1, "Media upload has failed", 2207085)
    return instagram_views.container(call, node)


def add_comment(call: Call, node: Node) -> dict[str, Any]:
    """Answers POST /{media}/comments: adds a comment."""
    return _comment(call, node.thing, None)


def add_reply(call: Call, node: Node) -> dict[str, Any]:
    """Answers POST /{comment}/replies: adds a reply. A reply to a reply becomes a reply to the top-level comment."""
    comment: Comment = node.thing
    return _comment(call, call.sim.world.posts[comment.post_id], comment.parent_id or comment.comment_id)


def delete_comment(call: Call, node: Node) -> dict[str, Any]:
    """Answers DELETE /{comment}: deletes the comment."""
    call.sim.world.remove_comment(node.node_id)
    return {"success": True}


def _fill_carousel(call: Call, user: Node, carousel: Container) -> None:
    ids = [one.strip() for one in call.names("children")]
    if not CHILDREN[0] <= len(ids) <= CHILDREN[1]:
        raise GraphError(100, f"A carousel needs {CHILDREN[0]} to {CHILDREN[1]} children.", 2207028)
    children = [find_container(call, user, one) for one in ids]
    if any(not one.is_child for one in children):
        raise GraphError(100, "A carousel's children need is_carousel_item.", 2207028)
    if any(one.status(call.sim) != "FINISHED" for one in children):
        raise _NOT_READY
    carousel.media = [medium for one in children for medium in _settled(one)]


def _settled(container: Container) -> list[Medium]:
    """Returns the media of a container. Its status must be FINISHED: before that, the video may not be fetched yet."""
    return container.media if isinstance(container.media, list) else container.media.result()


def _comment(call: Call, post: Post, parent_id: str | None) -> dict[str, Any]:
    message = call.text("message")
    if not message:
        raise invalid("The parameter message is required")
    comment = call.sim.comment(post, post.account_id, post.author, message, parent_id)
    if call.text("fields"):
        # The comment exists all the same, so a caller that repeats the call writes it twice (platforms.md 3).
        raise GraphError(20, "(#20) The comment could not be read back.", 1772107)
    return {"id": comment.comment_id}


EDGES: Edges = {
    ("POST", "IGUser", "media"): Edge("upload", create_container),
    ("POST", "IGUser", "media_publish"): Edge("publish", publish),
    ("POST", "IGMedia", "comments"): Edge("comment", add_comment),
    ("POST", "IGComment", "replies"): Edge("reply", add_reply),
    ("DELETE", "IGComment", ""): Edge(None, delete_comment),
    ("GET", "IGUser", ""): Edge("profile", instagram_views.user),
    ("GET", "IGUser", "media"): Edge("status", instagram_views.media_list),
    ("GET", "IGUser", "content_publishing_limit"): Edge("status", instagram_views.publishing_limit),
    ("GET", "Container", ""): Edge("status", instagram_views.container, on_reject=fail_container),
    ("GET", "IGMedia", ""): Edge(instagram_views.operation_of_read, instagram_views.media),
    ("GET", "IGMedia", "comments"): Edge("comments", instagram_views.comments),
    ("GET", "IGMedia", "insights"): Edge("engagement", instagram_views.insights),
    ("GET", "IGMedia", "children"): Edge("status", instagram_views.children),
    ("GET", "IGComment", ""): Edge("comments", instagram_views.comment),
    ("GET", "IGComment", "replies"): Edge("comments", instagram_views.replies),
}
