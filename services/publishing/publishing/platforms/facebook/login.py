"""Facebook's login: returns the person's pages, each with its own token (docs/platforms.md, section 2)."""

from publishing.platforms.base import Profile
from publishing.platforms.http_client import Answer
from publishing.platforms.meta.login import MetaLogin


class FacebookLogin(MetaLogin):
    scopes = (
        "pages_show_list", "pages_read_engagement", "pages_read_user_content", "pages_manage_posts",
        "pages_manage_engagement", "pages_manage_metadata", "business_management",
    )  # fmt: skip

    def found(self, page: Answer) -> tuple[str, Profile] | None:
        profile = Profile(
            name=str(page.get("name") or ""),
            username=page.get("username"),
            followers=int(page.get("followers_count") or 0),
            picture=((page.get("picture") or {}).get("data") or {}).get("url"),
        )
        return str(page["id"]), profile
