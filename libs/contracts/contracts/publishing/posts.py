"""Posts: their states, attempts, findings and results."""

from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from contracts.caller import Maker
from contracts.platforms import PlatformCode, PlatformName
from contracts.publishing.content import MediaItem, PostContent
from contracts.publishing.pages import Limit, PostError
from contracts.record import Record

# Described values that are not enforced: another release may know more of them.
PostStatus = Annotated[
    str, Meta(extra_json_schema={"enum": ["queued", "held", "published", "failed", "cancelled"]})
]
AttemptStatus = Annotated[
    str, Meta(extra_json_schema={"enum": ["open", "published", "refused", "not_published", "given_up"]})
]
PostOrigin = Annotated[str, Meta(extra_json_schema={"enum": ["scheduled", "immediate"]})]
FirstCommentStatus = Annotated[str, Meta(extra_json_schema={"enum": ["pending", "published", "failed"]})]
LostAccess = Annotated[str, Meta(extra_json_schema={"enum": ["token_revoked", "collaborator_removed"]})]


class PostHold(Record):
    """Since when and why a post is held, and whose lost access is the cause."""

    #: `token_revoked` or `collaborator_removed`
    reason: LostAccess
    held_at: datetime
    made_by: Maker


class FirstCommentResult(Record):
    """The outcome of a published post's first comment."""

    #: `pending`, `published` or `failed`
    status: FirstCommentStatus
    #: Set when it has failed: the post itself stays published.
    error: PostError | None = None


class ScheduledPost(PostContent, kw_only=True):
    """A post that is or was scheduled, in any state (spec.md, "ScheduledPost")."""

    id: str
    page_id: str
    brand_id: str
    platform: PlatformCode
    media: tuple[MediaItem, ...]
    scheduled_at: datetime
    #: `queued`, `held`, `published`, `failed` or `cancelled`; a post being sent right now is still `queued`.
    status: PostStatus
    created_at: datetime
    attempts: int = 0
    next_attempt_at: datetime | None = None
    remote_id: str | None = None
    permalink: str | None = None
    published_at: datetime | None = None
    error: PostError | None = None
    #: Set on a held post.
    hold: PostHold | None = None
    #: Set on a published post with a first comment.
    first_comment_result: FirstCommentResult | None = None


class PostId(Record):
    id: str


class Cancelled(Record):
    success: bool
    id: str


#: Part of a post's text, however it is capitalized. A page of a search may have fewer posts than `limit`, or none, and
#: still a `next_cursor`.
Search = Annotated[str, Meta(min_length=2, max_length=100)]


class ListScheduledPosts(Record):
    page_id: str | None = None
    #: Comma-separated of queued, held, failed, cancelled, published; or all.
    status: str = "queued"
    #: Only posts for this time or later.
    since: datetime | None = None
    #: Only posts for an earlier time.
    until: datetime | None = None
    brand_id: str | None = None
    platform: PlatformName | None = None
    search: Search | None = None
    limit: Limit = 50
    cursor: str | None = None


class ScheduledPostList(Record):
    scheduled_posts: tuple[ScheduledPost, ...]
    next_cursor: str | None = None


class CountScheduledPosts(Record):
    page_id: str | None = None
    brand_id: str | None = None
    platform: PlatformName | None = None


class ScheduledPostCounts(Record):
    """How many scheduled posts are queued, held and failed. Each number is at most 1,000: further posts are not
    counted."""

    #: Includes posts that are being sent right now.
    queued: int
    held: int
    failed: int


class ListCalendarPosts(Record):
    #: Only posts of this time or later.
    since: datetime
    #: Only posts of an earlier time.
    until: datetime
    page_id: str | None = None
    brand_id: str | None = None
    platform: PlatformName | None = None
    #: Comma-separated of queued, held, failed, published.
    status: str = "queued,held,failed,published"
    #: The most posts that are not published, and the most published ones.
    limit: Annotated[int, Meta(ge=1, le=300)] = 300


class CalendarPost(Record):
    """A post in a calendar, in brief."""

    id: str
    #: When it was published or, for other posts, when it is or was to be published.
    at: datetime
    #: queued, held, failed or published
    status: PostStatus
    platform: PlatformCode
    page_id: str
    brand_id: str
    #: At most the first 280 characters of its text.
    message: str | None
    #: How many photos are attached.
    photos: int = 0
    #: How many videos are attached.
    videos: int = 0


class CalendarPosts(Record):
    """The posts of a span of time, soonest first. No post is missing between `complete_since` and `complete_until`,
    where they are set."""

    posts: tuple[CalendarPost, ...]
    #: Set if more posts were published than `limit`: those before this time are missing.
    complete_since: datetime | None = None
    #: Set if more posts than `limit` are not published: those after this time are missing.
    complete_until: datetime | None = None


class HeldPosts(Record):
    """Selects held posts that the caller may access: those with these ids, those of one person or token, or all."""

    #: As in `PagesOfPost`.
    ONE_OF: ClassVar[dict[str, str]] = {"post_ids": "", "made_by": "OfMaker"}
    post_ids: Annotated[tuple[str, ...], Meta(min_length=1, max_length=100)] | None = None
    #: The id of a user or a token, or `anybody`.
    made_by: Annotated[str, Meta(min_length=1, max_length=64)] | None = None


class ReleasePosts(HeldPosts, kw_only=True):
    #: Whether posts whose time has passed stay held or are published now.
    past_due: Literal["hold", "now"] = "hold"


class RefusedPost(Record):
    """A selected post that was not changed, and the error that says why."""

    id: str
    error: PostError


class PostsReleased(Record):
    #: Queued again, soonest first.
    released: tuple[str, ...]
    #: Posts that could not be released, each with the reason; at most 500 posts in all.
    refused: tuple[RefusedPost, ...] = ()
    #: Number of posts left, because one call releases at most 500. Repeat the call.
    remaining: int = 0


class HeldPostsCancelled(Record):
    cancelled: tuple[str, ...]
    #: Requested posts that are not held.
    refused: tuple[RefusedPost, ...] = ()
    #: Number of posts left, because one call cancels at most 500. Repeat the call.
    remaining: int = 0


class PostProblem(PostError):
    """A post's error with a recommended fix. The message holds the platform's own text and code."""

    recommended_fix: str


class PostAttempt(Record):
    """One attempt to publish a post."""

    number: int
    #: `open` (no answer yet, or being looked up), `published`, `refused` (by the platform), `not_published` (looked up
    #: and not there) or `given_up` (the platform did not reveal the result for a day)
    outcome: AttemptStatus
    began_at: datetime
    ended_at: datetime | None
    error: PostProblem | None


class PageOfPost(Record):
    """A post's page, as it is now."""

    id: str
    name: str
    username: str | None
    expired: bool
    #: When the page was unlinked; the post stays.
    unlinked_at: datetime | None
    #: The platform's id of the page.
    account_id: str = ""


class Metrics(Record):
    likes: int = 0
    comments: int = 0
    shares: int = 0


class FullPost(PostContent, kw_only=True):
    """Everything known about one post, published at once or scheduled, in any state."""

    id: str
    #: `scheduled`, or `immediate`: published at once
    origin: PostOrigin
    #: `queued`, `held`, `published`, `failed` or `cancelled`; a post being sent right now is still `queued`.
    status: PostStatus
    platform: PlatformCode
    page_id: str
    page: PageOfPost
    brand_id: str
    brand_name: str
    media: tuple[MediaItem, ...]
    created_at: datetime
    #: None for an immediate post.
    scheduled_at: datetime | None
    next_attempt_at: datetime | None
    published_at: datetime | None
    #: The platform's id of the published post.
    remote_id: str | None
    permalink: str | None
    error: PostProblem | None
    #: Set on a held post.
    hold: PostHold | None
    #: Set on a published post with a first comment.
    first_comment_result: FirstCommentResult | None
    #: Oldest first.
    attempts: tuple[PostAttempt, ...]
    #: Who made, changed, retried or released it last. None: unknown.
    made_by: Maker | None
    #: The counts of a published post when they were last read from its platform.
    metrics: Metrics | None = None


class ListPosts(Record):
    #: Comma-separated ids of up to 100 posts.
    post_ids: Annotated[str, Meta(max_length=3_200)]


class PostList(Record):
    """The posts of the given ids, in their order. Those that do not exist, and those that the caller may not see, are
    left out."""

    posts: tuple[FullPost, ...]


class FindPosts(Record):
    """A request for the posts that these operations made, changed, retried or replied to."""

    operation_ids: tuple[str, ...]


class PostOfRequest(Record):
    """A post that a request made, changed, retried or replied to, with its attempts."""

    id: str
    #: `scheduled`, or `immediate`: published at once
    origin: PostOrigin
    #: `queued`, `held`, `published`, `failed` or `cancelled`; a post being sent right now is still `queued`.
    status: PostStatus
    platform: PlatformCode
    page_id: str
    brand_id: str
    permalink: str | None
    error: PostProblem | None
    #: Oldest first.
    attempts: tuple[PostAttempt, ...]
    message: str | None = None


class FoundPosts(Record):
    """The answer to `FindPosts`: at most 100 posts, newest first."""

    posts: tuple[PostOfRequest, ...]


class PublishResult(Record):
    """The result of an immediate publish (spec.md, "Publish result fields")."""

    post_id: str
    platform: PlatformCode
    page_id: str
    brand_id: str
    message: str | None
    media: tuple[MediaItem, ...]
    status: PostStatus
    was_published: bool
    platform_post_id: str | None
    published_at: datetime
    permalink: str | None


class PageResult(Record, omit_defaults=True):
    """The result for one of several pages: its post, or the error that a call for this page alone would get.

    `status` is the HTTP status of such a call.
    """

    page_id: str
    #: HTTP status that a call for this page alone would get.
    status: int
    scheduled_post: ScheduledPost | None = None
    post: PublishResult | None = None
    error: dict[str, Any] | None = None


class PageResults(Record):
    """One result per page, in the order of the request."""

    results: tuple[PageResult, ...]


class ListPublishedPosts(Record):
    page_id: str | None = None
    platform: PlatformName | None = None
    since: datetime | None = None
    #: Only posts that were published before it.
    until: datetime | None = None
    brand_id: str | None = None
    search: Search | None = None
    #: Only posts on platforms whose comments GET /comments lists.
    with_comments: bool = False
    #: `activity`: by the time of the newest comment of a visitor, of posts without one by the time of publishing. Not
    #: together with `since`, `until` or `search`.
    sort: Literal["published", "activity"] = "published"
    limit: Limit = 50
    cursor: str | None = None


class PublishedPost(Record):
    id: str
    page_id: str
    brand_id: str
    platform: PlatformCode
    remote_id: str
    permalink: str | None
    published_at: datetime
    message: str | None
    metrics: Metrics
    media: tuple[MediaItem, ...] = ()
    #: Set on a post with a first comment.
    first_comment_result: FirstCommentResult | None = None
    #: When Posthaste received the newest comment of a visitor. None: it has received none.
    last_comment_at: datetime | None = None
    #: With `with_comments`: until when the person of the token has read the comments of the post's brand, as PUT
    #: /comments/read says. None: never, or the list was asked for without `with_comments`.
    comments_read_until: datetime | None = None


class PublishedPostList(Record):
    published_posts: tuple[PublishedPost, ...]
    next_cursor: str | None = None
