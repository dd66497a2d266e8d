"""TikTok: counts and the account itself; there are no comments (platforms.md 5). `connector` makes posts."""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any, NoReturn

from publishing.platforms.base import (
    Account,
    CommentPage,
    Connector,
    Counts,
    PlatformRefusal,
    Profile,
    Published,
    Refusal,
    RemoteReply,
)
from publishing.platforms.tiktok.calls import Answer, PostingApi
from publishing.platforms.tiktok.settings import TikTokSettings

_TOLD_OF_A_VIDEO = "id,share_url,create_time,like_count,comment_count,share_count"


class TikTokReading(Connector):
    """The half of the connector that deals with posts which are out."""

    def __init__(self, settings: TikTokSettings) -> None:
        self._settings = settings
        self._api = PostingApi(settings)

    def comment(self, account: Account, remote_id: str, text: str) -> RemoteReply:
        _no_comments()

    def reply(self, account: Account, comment_id: str, text: str) -> RemoteReply:
        _no_comments()

    def find_comment(
        self,
        account: Account,
        remote_id: str,
        text: str,
        *,
        began_at: datetime,
        known_ids: Collection[str] = (),
    ) -> RemoteReply | None:
        _no_comments()

    def find_reply(
        self,
        account: Account,
        comment_id: str,
        text: str,
        *,
        began_at: datetime,
        known_ids: Collection[str] = (),
    ) -> RemoteReply | None:
        _no_comments()

    def list_comments(
        self,
        account: Account,
        remote_id: str,
        *,
        since: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> CommentPage:
        _no_comments()

    def named(self, account: Account, remote_id: str) -> Published | None:
        post_id = post_id_in(self._api.status(account, remote_id))
        return Published(post_id, permalink(account, post_id)) if post_id else None

    def engagement(self, account: Account, remote_id: str) -> Counts:
        """Of a post that everybody may see; a publish id is followed to the post it has become."""
        post_id = remote_id if remote_id.isdigit() else post_id_in(self._api.status(account, remote_id))
        body = {"filters": {"video_ids": [post_id]}}
        videos = (
            self._api.ask(account, f"video/query/?fields={_TOLD_OF_A_VIDEO}", body).get("videos")
            if post_id
            else None
        )
        if not videos:
            message = "TikTok tells nothing of a post that is private or not looked over yet."
            raise PlatformRefusal(Refusal.PERMISSION, "NOT_PUBLIC", message)
        video = videos[0]
        return Counts(
            likes=int(video.get("like_count") or 0),
            comments=int(video.get("comment_count") or 0),
            shares=int(video.get("share_count") or 0),
            permalink=permalink(account, str(video.get("id"))) or video.get("share_url"),
            published_at=_epoch(video.get("create_time")),
        )

    def profile(self, account: Account) -> Profile:
        fields = "open_id,display_name,username,avatar_url,follower_count"
        user: Answer = self._api.ask(account, f"user/info/?fields={fields}").get("user") or {}
        return Profile(
            name=str(user.get("display_name") or user.get("username") or ""),
            username=user.get("username"),
            followers=int(user.get("follower_count") or 0),
            picture=user.get("avatar_url"),
        )


def post_id_in(status: Answer) -> str | None:
    """The post's own id in a status, in TikTok's own spelling; 64 bits as text."""
    ids = status.get("publicaly_available_post_id") or []
    return str(ids[0]) if ids else None


def permalink(account: Account, post_id: str) -> str | None:
    return f"https://www.tiktok.com/@{account.username}/video/{post_id}" if account.username else None


def _epoch(value: Any) -> datetime | None:
    return datetime.fromtimestamp(value, UTC) if isinstance(value, (int, float)) else None


def _no_comments() -> NoReturn:
    message = "TikTok's API for posting has no comments."
    raise PlatformRefusal(Refusal.REJECTED, "UNSUPPORTED_PLATFORM", message)
