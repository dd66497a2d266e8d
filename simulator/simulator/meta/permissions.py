"""The permissions that calls to the Graph API need, from Meta's reference of each edge (docs/platforms/facebook.md)."""

from collections.abc import Mapping

from simulator.meta.call import Call
from simulator.meta.errors import GraphError

_POSTS = "pages_manage_posts"
_READ = "pages_read_engagement"
_PUBLISH = "instagram_content_publish"
_COMMENTS = "instagram_manage_comments"

#: (method, kind of node, edge) → permission. A call that is not listed needs none.
NEEDED: Mapping[tuple[str, str, str], str] = {
    ("GET", "User", "accounts"): "pages_show_list",
    ("GET", "User", "businesses"): "business_management",
    ("GET", "Business", "owned_pages"): "business_management",
    ("GET", "Business", "client_pages"): "business_management",
    **{("POST", "Page", edge): _POSTS for edge in ("feed", "photos", "videos")},
    ("POST", "Post", ""): _POSTS,
    **{("DELETE", kind, ""): _POSTS for kind in ("Post", "Photo", "Video")},
    **{("POST", kind, "comments"): "pages_manage_engagement" for kind in ("Post", "Video", "Comment")},
    ("DELETE", "Comment", ""): "pages_manage_engagement",
    **{("GET", "Page", edge): _READ for edge in ("", "feed", "posts", "published_posts", "videos")},
    **{("GET", "Post", edge): _READ for edge in ("reactions", "likes")},
    **{("GET", kind, ""): _READ for kind in ("Post", "Photo", "Video")},
    **{("GET", kind, "comments"): "pages_read_user_content" for kind in ("Post", "Video", "Comment")},
    ("GET", "Comment", ""): "pages_read_user_content",
    ("POST", "Page", "subscribed_apps"): "pages_manage_metadata",
    **{("POST", "IGUser", edge): _PUBLISH for edge in ("media", "media_publish")},
    ("GET", "IGUser", "content_publishing_limit"): _PUBLISH,
    ("GET", "Container", ""): "instagram_basic",
    **{("GET", "IGUser", edge): "instagram_basic" for edge in ("", "media")},
    **{("GET", "IGMedia", edge): "instagram_basic" for edge in ("", "children")},
    ("GET", "IGMedia", "insights"): "instagram_manage_insights",
    ("GET", "IGMedia", "comments"): _COMMENTS,
    ("POST", "IGMedia", "comments"): _COMMENTS,
    **{(method, "IGComment", edge): _COMMENTS for method, edge in (
        ("GET", ""), ("GET", "replies"), ("POST", "replies"), ("DELETE", ""),
    )},
}  # fmt: skip


def check(call: Call, method: str, kind: str, edge: str) -> None:
    """Raises GraphError 10 or 200 if the token lacks the permission that this call needs."""
    scope = NEEDED.get((method, kind, edge))
    if scope is not None and not call.allows(scope):
        if scope.startswith("instagram_"):
            raise GraphError(10, "(#10) Application does not have permission for this action")
        raise GraphError(200, f"(#200) Requires {scope} permission to manage the object")
