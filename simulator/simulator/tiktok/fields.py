"""The fields that TikTok's API has for users and videos, and the scope that each field needs.

Sources, read in November 2026: developers.tiktok.com/doc/tiktok-api-v2-get-user-info ("User Object") and
/doc/tiktok-api-v2-video-object.
"""

from collections.abc import Mapping
from typing import Any

from flask import request

from simulator.accounts import Account
from simulator.tiktok.errors import TikTokError, invalid
from simulator.world import Post

BASIC, PROFILE, STATS, LIST = "user.info.basic", "user.info.profile", "user.info.stats", "video.list"
USER: Mapping[str, str] = {
    **dict.fromkeys(
        ("open_id", "union_id", "avatar_url", "avatar_url_100", "avatar_large_url", "display_name"), BASIC
    ),
    **dict.fromkeys(("bio_description", "profile_deep_link", "is_verified", "username"), PROFILE),
    **dict.fromkeys(("follower_count", "following_count", "likes_count", "video_count"), STATS),
}
VIDEO: Mapping[str, str] = dict.fromkeys(
    (
        "id", "create_time", "cover_image_url", "share_url", "video_description", "duration", "height", "width",
        "title", "embed_html", "embed_link", "like_count", "comment_count", "share_count", "view_count",
    ),
    LIST,
)  # fmt: skip
_TITLE_LENGTH = 150


def asked(known: Mapping[str, str], granted: frozenset[str] | None) -> list[str]:
    """Returns the names in the query parameter `fields`. `known` maps each existing field to the scope that it needs;
    `granted` are the token's scopes, None: all. Raises TikTokError for an unknown field, or one whose scope the token
    lacks.
    """
    names = request.args.get("fields", "").split(",")
    if not set(names) <= set(known):
        raise invalid("The request parameter fields is missing or has unknown names")
    lacking = sorted({known[name] for name in names} - (granted or set(known.values())))
    if lacking:
        raise TikTokError("scope_permission_missed", f"Some fields need the scopes {', '.join(lacking)}")
    return names


def user(account: Account, posts: int) -> dict[str, Any]:
    avatar = f"https://p16-sign.tiktokcdn.com/{account.account_id}.jpeg"
    return {
        "open_id": account.account_id,
        "union_id": f"union{account.account_id}",
        **dict.fromkeys(("avatar_url", "avatar_url_100", "avatar_large_url"), avatar),
        "display_name": account.name,
        "bio_description": "",
        "profile_deep_link": f"https://vm.tiktok.com/{account.username}/",
        "is_verified": False,
        "username": account.username,
        "follower_count": account.followers,
        "following_count": 3,
        "likes_count": 0,
        "video_count": posts,
    }


def video(account: Account, post: Post) -> dict[str, Any]:
    """Returns a public post as TikTok shows it. Length, width and height are 0, because the simulator does not store
    them.
    """
    link = f"https://www.tiktok.com/player/v1/{post.post_id}"
    return {
        "id": post.post_id,
        "create_time": int(post.created_at.timestamp()),
        "cover_image_url": f"https://p16-sign.tiktokcdn.com/{post.post_id}.jpeg",
        "share_url": f"https://www.tiktok.com/@{account.username}/video/{post.post_id}?utm_campaign=tt4d_open_api",
        "video_description": post.text[:_TITLE_LENGTH],
        "duration": 0,
        "height": 0,
        "width": 0,
        "title": post.text,
        "embed_html": f'<iframe src="{link}"></iframe>',
        "embed_link": link,
        "like_count": post.likes,
        "comment_count": post.comment_count,
        "share_count": post.shares,
        "view_count": 10 * post.likes,
    }
