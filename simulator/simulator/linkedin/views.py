"""Posts and comments as LinkedIn's API shows them."""

from typing import Any

from simulator.linkedin.social import Social, activity_urn, comment_urn
from simulator.world import Comment, Post


def post_view(post: Post) -> dict[str, Any]:
    made_at = int(post.created_at.timestamp() * 1000)
    return {
        "id": post.post_id,
        "author": post.account_id,
        "lifecycleState": "PUBLISHED",
        "createdAt": made_at,
        "publishedAt": made_at,
        "lastModifiedAt": made_at,
        **post.settings,
    }


def comment_view(social: Social, post: Post, comment: Comment) -> dict[str, Any]:
    replies = len(social.sim.world.replies_to(comment))
    made = {"actor": _actor(comment), "time": int(comment.created_at.timestamp() * 1000)}
    view: dict[str, Any] = {
        "id": comment.comment_id,
        "commentUrn": comment_urn(post, comment.comment_id),
        "actor": _actor(comment),
        "object": activity_urn(post),
        "created": made,
        "lastModified": made,
        "message": {"attributes": [], "text": comment.text},
        "likesSummary": {"totalLikes": 0, "aggregatedTotalLikes": 0},
    }
    if comment.parent_id is not None:
        view["parentComment"] = comment_urn(post, comment.parent_id)
    if replies:
        view["commentsSummary"] = {"totalFirstLevelComments": replies, "aggregatedTotalComments": replies}
    return view


def page_view(rows: list[dict[str, Any]], start: int, count: int) -> dict[str, Any]:
    """Returns `count` rows from `start` on, with LinkedIn's `paging` object."""
    paging = {"start": start, "count": count, "total": len(rows), "links": []}
    return {"elements": rows[start : start + count], "paging": paging}


def _actor(comment: Comment) -> str:
    is_urn = comment.author_id.startswith("urn:li:")
    return comment.author_id if is_urn else f"urn:li:person:{comment.author_id}"
