"""Instagram's login: finds each professional account through the Facebook page it belongs to, and uses the page's
token."""

from publishing.platforms.base import Profile
from publishing.platforms.http_client import Answer
from publishing.platforms.instagram.reading import profile_of
from publishing.platforms.meta.login import MetaLogin
from publishing.platforms.meta.settings import MetaSettings


class InstagramLogin(MetaLogin):
    scopes: tuple[str, ...] = (
        "instagram_basic", "instagram_content_publish", "instagram_manage_comments", "instagram_manage_insights",
        "pages_show_list", "pages_read_engagement", "pages_manage_metadata", "business_management",
    )  # fmt: skip

    page_fields = ",".join(
        (
            MetaLogin.page_fields,
            "instagram_business_account{id,username,name,profile_picture_url,followers_count}",
        )
    )

    def __init__(self, settings: MetaSettings) -> None:
        super().__init__(settings)
        if settings.asks_ads_read:
            self.scopes = (*self.scopes, "ads_read")

    def found(self, page: Answer) -> tuple[str, Profile] | None:
        account = page.get("instagram_business_account")
        if not isinstance(account, dict) or not account.get("id"):
            return None
        return str(account["id"]), profile_of(account)
