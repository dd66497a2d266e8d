"""Engagement with published posts: counts, comments, replies, and the webhook calls that platforms send."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta, field

from contracts.platforms import PlatformCode
from contracts.publishing.pages import Limit
from contracts.record import Record

ReplyMessage = Annotated[str, Meta(min_length=1, max_length=8_000)]


class EngagementCounts(Record):
    likes: int
    comments: int
    shares: int | None
    total_interactions: int
    permalink: str | None
    published_at: datetime


class Engagement(Record):
    id: str
    platform: PlatformCode
    platform_post_id: str
    page_id: str
    brand_id: str
    engagement: EngagementCounts
    fetched_at: datetime


class Author(Record):
    id: str
    name: str


class Comment(Record):
    id: str
    text: str
    author: Author = field(name="from")
    created_time: datetime
    reply_count: int
    post_id: str
    platform: PlatformCode
    parent_id: str | None = None
    #: Whether the page itself wrote it, through Posthaste or in the platform's app. None: the platform does not say who
    #: did, as Facebook of some visitors.
    is_own: bool | None = None
    #: When it was marked as needing no reply (PUT /comments/{id}/settled). None: it may need one. Always null in
    #: events.
    settled_at: datetime | None = None
    #: When Posthaste first received it: by a webhook, by a poll, or because somebody read the list. None: an older
    #: release answers.
    received_at: datetime | None = None


class ListComments(Record):
    post_id: str
    page_id: str | None = None
    since: datetime | None = None
    limit: Limit = 50
    cursor: str | None = None


class CommentList(Record):
    comments: tuple[Comment, ...]
    next_cursor: str | None = None


class MarkCommentsRead(Record):
    """The person of the token has read the comments on the posts of a brand."""

    #: Comments that Posthaste received until then are read. Not later than now: a later time counts as now.
    read_until: datetime
    #: None: all brands that the token may use.
    brand_id: str | None = None


class CommentsRead(Record):
    """How far the comments of one brand are read."""

    brand_id: str
    #: The latest time that was ever sent, so a request that arrives late changes nothing.
    read_until: datetime


class CommentsReadList(Record):
    brands: tuple[CommentsRead, ...]


class CommentId(Record):
    id: str


class SettledComment(Record):
    """Whether a comment needs no reply."""

    id: str
    #: Since when. None: it may need one.
    settled_at: datetime | None


class ReplyToComment(Record):
    page_id: str
    comment_id: str
    message: ReplyMessage


class Reply(Record):
    id: str
    parent_id: str
    message: str
    created_at: datetime


#: Size of a platform's webhook call. Meta batches up to 1,000 changes.
MAX_HOOK_BYTES = 2**20
#: The body's size on the bus (architecture: messages stay under 256 KiB; bytes travel as base64).
MAX_DEFLATED_HOOK_BYTES = 128 * 1024


class VerifyHook(Record):
    """A platform's question whether a webhook URL is ours. `platform` is its full lowercase name."""

    platform: str
    mode: str
    token: str


class ReceiveHook(Record):
    """A platform's webhook call.

    `deflated_body` holds the exact bytes, which the signature covers, compressed with zlib.
    """

    platform: str
    deflated_body: bytes
    signature: str
