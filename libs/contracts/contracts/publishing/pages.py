"""Pages: the platform accounts that are connected to brands."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from contracts.platforms import PlatformCode, PlatformName
from contracts.record import Record

Limit = Annotated[int, Meta(ge=1, le=100)]


class PostError(Record):
    code: str
    message: str


class LastRefusal(Record):
    """The last post of a page that the platform refused."""

    post_id: str
    code: str
    message: str
    refused_at: datetime


class Page(Record):
    """A page: an account on a platform that is connected to a brand."""

    id: str
    platform: PlatformCode
    name: str
    username: str | None
    account_id: str
    brand_id: str
    brand_name: str
    followers: int
    picture: str | None
    expired: bool
    created_at: datetime
    #: When the connection was last checked on the platform; None: not since the page was linked.
    checked_at: datetime | None = None
    #: The permissions that the page lacked at that check; None: not known.
    missing_permissions: tuple[str, ...] | None = None
    #: When the page's token expires, according to that check. None: not known, or the token does not expire.
    token_expires_at: datetime | None = None
    #: The last post that the platform refused for good; None once a later post went out, and if none was refused.
    #: Always None in events.
    last_refusal: LastRefusal | None = None


class ListPages(Record):
    platform: PlatformName | None = None
    brand_id: str | None = None
    limit: Limit = 50
    cursor: str | None = None


class PageList(Record):
    pages: tuple[Page, ...]
    next_cursor: str | None = None


class GetPage(Record):
    id: str


class CountPages(Record):
    brand_ids: tuple[str, ...]


class PageCounts(Record):
    """How many pages each brand has (brand id → count). Brands without pages are absent."""

    counts: dict[str, int]


class LinkPage(Record):
    """The operator's request to connect a platform account to a brand. If the account is a page of the brand already,
    that page gets the new token."""

    owner_account_id: str
    brand_id: str
    brand_name: str
    platform: str
    remote_account_id: str
    access_token: str
    name: str
    username: str | None = None
    followers: int = 0
    picture: str | None = None


class PageHealth(Record):
    """Whether a page's connection works, according to the platform."""

    page_id: str
    platform: PlatformCode
    #: Whether the connection works and has all permissions that our features need.
    healthy: bool
    expired: bool
    #: Missing permissions for posting, reading and replying; None: unknown.
    missing_permissions: tuple[str, ...] | None
    #: None: unknown, or the token does not expire.
    token_expires_at: datetime | None
    error: PostError | None
    reconnect_url: str | None
    checked_at: datetime
    #: Whether the platform lets the page write comments: first comments and replies. None: not known.
    can_comment: bool | None = None


class UnlinkPage(Record):
    id: str
    #: Whether to cancel the page's queued posts.
    cancel_queued: bool = False


class PageUnlinked(Record):
    success: bool
    id: str
    #: Posts that were cancelled.
    cancelled_posts: tuple[str, ...] = ()
