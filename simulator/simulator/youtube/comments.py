"""Comment threads and replies on YouTube (docs/platforms.md, section 7)."""

import html
from typing import Any

from simulator.accounts import Account
from simulator.clock import rfc3339
from simulator.simulation import Simulation
from simulator.world import Comment, Post
from simulator.youtube.errors import YouTubeError, invalid, missing

#: Number of replies that a thread includes. The others are listed by comments.list.
_SHOWN_REPLIES = 2
_TEXT_CHARACTERS = 10_000
_DOMAIN = "youtube.comment"


def threads(post: Post) -> list[Comment]:
    """Returns the top-level comments on a video, newest first. Raises YouTubeError if its comments are disabled."""
    _check_open(post)
    first = [comment for comment in reversed(list(post.comments)) if comment.parent_id is None]
    return sorted(first, key=lambda comment: comment.created_at, reverse=True)


def add(sim: Simulation, channel: Account, post: Post, text: Any, parent: Comment | None) -> Comment:
    """Adds a comment of the channel, or a reply to `parent`. Raises YouTubeError if YouTube would refuse the text, or
    if comments on the video are disabled.
    """
    _check_open(post)
    if not isinstance(text, str) or not text.strip():
        raise invalid("commentTextRequired", "The comment's text is required.", _DOMAIN)
    if len(text) > _TEXT_CHARACTERS:
        raise invalid("commentTextTooLong", "The comment's text is too long.", _DOMAIN)
    parent_id = parent.comment_id if parent else None
    return sim.comment(post, channel.account_id, channel.name, text, parent_id)


def parent_of(sim: Simulation, comment_id: Any) -> Comment:
    """Returns the comment with this id, to which a reply will be added. Raises YouTubeError if there is none or it is
    a reply.
    """
    comment = found(sim, str(comment_id or ""))
    if comment.parent_id is not None:
        raise invalid("parentCommentIsReply", "The parent comment is a reply itself.", _DOMAIN)
    return comment


def found(sim: Simulation, comment_id: str) -> Comment:
    """Returns the comment with this id. Raises YouTubeError if there is none."""
    comment = sim.world.comments.get(comment_id)
    if comment is None or sim.world.posts[comment.post_id].platform != "YT":
        raise missing("commentNotFound", "The specified comment could not be found.")
    return comment


def shown_thread(sim: Simulation, comment: Comment, parts: set[str], plain: bool) -> dict[str, Any]:
    """Returns the JSON of a comment thread. With "replies" in `parts` it includes the two oldest replies."""
    post, replies = sim.world.posts[comment.post_id], sim.world.replies_to(comment)
    thread: dict[str, Any] = {
        "kind": "youtube#commentThread",
        "id": comment.comment_id,
        "snippet": {
            "channelId": post.account_id,
            "videoId": post.post_id,
            "topLevelComment": shown(comment, plain),
            "canReply": True,
            "totalReplyCount": len(replies),
            "isPublic": True,
        },
    }
    if replies and "replies" in parts:
        thread["replies"] = {"comments": [shown(reply, plain) for reply in replies[:_SHOWN_REPLIES]]}
    return thread


def shown(comment: Comment, plain: bool) -> dict[str, Any]:
    """Returns the JSON of a comment. Its `textDisplay` is HTML, or plain text if `plain` is set."""
    text = comment.text if plain else html.escape(comment.text).replace("\n", "<br>")
    snippet: dict[str, Any] = {
        "textDisplay": text,
        "textOriginal": comment.text,
        "authorDisplayName": comment.author,
        "authorChannelId": {"value": comment.author_id},
        "videoId": comment.post_id,
        "canRate": True,
        "likeCount": 0,
        "publishedAt": rfc3339(comment.created_at),
        "updatedAt": rfc3339(comment.created_at),
    }
    if comment.parent_id is not None:
        snippet["parentId"] = comment.parent_id
    return {"kind": "youtube#comment", "id": comment.comment_id, "snippet": snippet}


def _check_open(post: Post) -> None:
    if post.settings.get("made_for_kids"):
        message = "The video identified by the videoId parameter has disabled comments."
        raise YouTubeError(403, "commentsDisabled", message, "youtube.commentThread")
