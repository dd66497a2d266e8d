"""Reads from TikTok: counts and the account's profile. Its API has no comments (docs/platforms.md, section 5)."""

from typing import NoReturn

from publishing.platforms.base import (
    Account,
    CommentPage,
    CommentQuery,
    Connector,
    Counts,
    OpenComment,
    PlatformRefusal,
    Profile,
    Published,
    Refusal,
)
from publishing.platforms.http_client import Answer, epoch_time
from publishing.platforms.tiktok.calls import PostingApi
from publishing.platforms.tiktok.settings import TikTokSettings

_VIDEO_FIELDS = "id,share_url,create_time,like_count,comment_count,share_count"


class TikTokReading(Connector):
    """The half of TikTok's connector that works on published posts."""

    def __init__(self, settings: TikTokSettings) -> None:
        self._settings = settings
        self._api = PostingApi(settings)

    def comment(self, account: Account, remote_id: str, text: str) -> str:
        _no_comments()

    def reply(self, account: Account, comment_id: str, text: str) -> str:
        _no_comments()

    def find_comment(self, comment: OpenComment) -> str | None:
        _no_comments()

    def find_reply(self, reply: OpenComment) -> str | None:
        _no_comments()

    def list_comments(self, account: Account, query: CommentQuery) -> CommentPage:
        _no_comments()

    def named(self, account: Account, remote_id: str) -> Published | None:
        post_id = post_id_in(self._api.status(account, remote_id))
        return Published(post_id, permalink(account, post_id)) if post_id else None

    def engagement(self, account: Account, remote_id: str) -> Counts:
        """Reads the counts of a public post. `remote_id` may also be the publish id that the post had at first."""
        post_id = remote_id if remote_id.isdigit() else post_id_in(self._api.status(account, remote_id))
        body = {"filters": {"video_ids": [post_id]}}
        videos = (
            self._api.ask(account, f"video/query/?fields={_VIDEO_FIELDS}", body).get("videos")
            if post_id
            else None
        )
        if not videos:
            message = "TikTok shows no counts of a post that is private or still under review."
            raise PlatformRefusal(Refusal.PERMISSION, "NOT_PUBLIC", message)
        video = videos[0]
        return Counts(
            likes=int(video.get("like_count") or 0),
            comments=int(video.get("comment_count") or 0),
            shares=int(video.get("share_count") or 0),
            permalink=permalink(account, str(video.get("id"))) or video.get("share_url"),
            published_at=epoch_time(video.get("create_time")),
        )

    def profile(self, account: Account) -> Profile:
        user = self.user(account)
        return Profile(
            name=str(user.get("display_name") or user.get("username") or ""),
            username=user.get("username"),
            followers=int(user.get("follower_count") or 0),
            picture=user.get("avatar_url"),
        )

    def user(self, account: Account) -> Answer:
        """Reads the profile fields of the account."""
        fields = "open_id,display_name,username,avatar_url,follower_count"
        user: Answer = self._api.ask(account, f"user/info/?fields={fields}").get("user") or {}
        return user


def post_id_in(status: Answer) -> str | None:
    """Returns the post's final id, a 64-bit number as text, from a field that TikTok misspells; None before there is
    one."""
    ids = status.get("publicaly_available_post_id") or []
    return str(ids[0]) if ids else None


def permalink(account: Account, post_id: str) -> str | None:
    return f"https://www.tiktok.com/@{account.username}/video/{post_id}" if account.username else None


def _no_comments() -> NoReturn:
    message = "TikTok's API for posting has no comments."
    raise PlatformRefusal(Refusal.REJECTED, "UNSUPPORTED_PLATFORM", message)
