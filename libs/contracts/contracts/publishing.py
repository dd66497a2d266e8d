"""The publishing service's surface: pages, linking, posts, comments and engagement."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Protocol, TypeVar

from msgspec import UNSET, Meta, UnsetType, defstruct, field

from contracts.caller import Caller
from contracts.keys import KeysRotated, RotateKeys
from contracts.maker import Maker
from contracts.platform_checks import CheckPlatform, PlatformReport
from contracts.platforms import PLATFORMS, PlatformCode, PlatformName
from contracts.record import Nothing, Record
from contracts.senders import called_by

Limit = Annotated[int, Meta(ge=1, le=100)]
#: Spec "Request field limits". The platform's own limit applies too.
MAX_MESSAGE_LENGTH = 5_000
Message = Annotated[str, Meta(max_length=MAX_MESSAGE_LENGTH)]
ReplyMessage = Annotated[str, Meta(min_length=1, max_length=8_000)]
#: decisions: media_ids and media_urls together. The platform's own limit applies too.
MAX_MEDIA_PER_POST = 10
Settings = dict[str, Any]
#: decisions "page_ids (several pages)".
MAX_PAGES_PER_CALL = 20
PageIds = Annotated[tuple[str, ...], Meta(min_length=1, max_length=MAX_PAGES_PER_CALL)]
R = TypeVar("R", bound=Record)

# Described values that are not enforced: another release may know more of them.
PostStatus = Annotated[
    str, Meta(extra_json_schema={"enum": ["queued", "held", "published", "failed", "cancelled"]})
]
AttemptStatus = Annotated[
    str, Meta(extra_json_schema={"enum": ["open", "published", "refused", "not_published", "given_up"]})
]
PostOrigin = Annotated[str, Meta(extra_json_schema={"enum": ["scheduled", "immediate"]})]
FirstCommentStatus = Annotated[str, Meta(extra_json_schema={"enum": ["pending", "published", "failed"]})]
LinkStatus = Annotated[
    str, Meta(extra_json_schema={"enum": ["pending", "choose", "linked", "refused", "failed"]})
]
LostAccess = Annotated[str, Meta(extra_json_schema={"enum": ["token_revoked", "collaborator_removed"]})]
MediaKind = Annotated[str, Meta(extra_json_schema={"enum": ["photo", "video"]})]


def with_settings(kind: Any, default: Any) -> Callable[[type[R]], type[R]]:
    """Adds a field `<name>_settings` of this type for each platform, after the record's own fields."""

    def extended(record: type[R]) -> type[R]:
        fields = [(platform.settings_field, kind, default) for platform in PLATFORMS.values()]
        named = {"__doc__": record.__doc__, "__qualname__": record.__qualname__}
        made: Any = defstruct(
            record.__name__, fields, bases=(record,), module=record.__module__, namespace=named
        )
        return made  # type: ignore[no-any-return]

    return extended


class Page(Record):
    """A connected platform account."""

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
    """Pages per brand id; a brand without pages is absent."""

    counts: dict[str, int]


class LinkPage(Record):
    """Operator: connects a platform account to a brand. Linking it again repairs the same page."""

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


class PostError(Record):
    code: str
    message: str


class PageHealth(Record):
    """The present state of a page's connection, according to the platform."""

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


class BeginLink(Record):
    """Begins to link a page. `platform` is a code; the gateway adds the present names of brand and account."""

    platform: str
    brand_id: str
    brand_name: str = ""
    account_name: str = ""
    #: Where the person is sent at the end: one of the URLs that the operator allows for the account.
    return_url: str | None = None
    #: One of the platform's `account_types`; None: the first that the server has an app for.
    account_type: str | None = None


class LinkBegun(Record):
    """`authorize_url` is our page on which the person begins. It is valid until `expires_at`."""

    session_id: str
    authorize_url: str
    expires_at: datetime


class FinishLink(Record):
    """The result of a platform's login. `platform` is its full lowercase name. `browser`: see `ViewLink`."""

    platform: str
    state: str = ""
    code: str = ""
    error: str = ""
    error_description: str = ""
    browser: str = ""


class ViewLink(Record):
    """A request for the page of a session. `browser`: a key of 64 hex digits derived from the session's cookie. It is a
    secret: publishing stores its hash alone.
    """

    session_id: str
    browser: str


class DecideLink(Record):
    """The person's decision: to grant the brand access to the pages found, or to cancel. `browser`: see `ViewLink`."""

    session_id: str
    browser: str
    is_given: bool


class GetLink(Record):
    session_id: str


class LinkableAccount(Record):
    """A page, profile or channel that can be linked. `page_id` is set once it is linked to this brand."""

    account_id: str
    name: str
    username: str | None
    followers: int
    picture: str | None
    page_id: str | None = None
    #: Whether the platform lets it write comments: first comments and replies. None: not known.
    can_comment: bool | None = None


class LinkSession(Record):
    """The progress of linking pages, as the app sees it."""

    session_id: str
    platform: PlatformCode
    brand_id: str
    #: pending (no login yet), choose, linked (all accounts found), refused (by the person) or failed
    status: LinkStatus
    accounts: tuple[LinkableAccount, ...]
    error: PostError | None
    expires_at: datetime
    brand_name: str | None = None


class LinkPageView(Record):
    """The progress of linking pages, as the person in the browser sees it."""

    session_id: str
    platform: str
    brand_name: str
    account_name: str
    #: start (go to `authorize_url`), wait (the platform's answer is being read), confirm (`accounts` were found,
    #: nothing is linked yet), or as in `LinkSession`: choose, linked, refused, failed
    status: str
    accounts: tuple[LinkableAccount, ...] = ()
    error: PostError | None = None
    #: The platform's login, only for this browser.
    authorize_url: str | None = None
    #: The app's URL with session and outcome, once there is an outcome.
    return_url: str | None = None


class ChooseAccounts(Record):
    session_id: str
    account_ids: Annotated[tuple[str, ...], Meta(min_length=1, max_length=100)]


class PagesLinked(Record):
    pages: tuple[Page, ...]


class MediaItem(Record):
    src: str
    #: photo or video
    type: MediaKind


@with_settings(Settings | None, None)
class PostContent(Record):
    """The content of a post, shared by schedule, publish and validate."""

    message: Message | None = None
    media_ids: tuple[str, ...] = ()
    media_urls: tuple[str, ...] = ()
    first_comment: Annotated[str, Meta(max_length=8_000)] | None = None


class SchedulePost(PostContent, kw_only=True):
    page_id: str
    scheduled_at: datetime


class PublishPost(PostContent, kw_only=True):
    page_id: str


class PageOverride(Record, forbid_unknown_fields=True):
    """What the post on one of several pages has instead of the call's own. Fields that are not sent keep the call's."""

    #: One of page_ids.
    page_id: str
    message: str | UnsetType | None = UNSET
    #: Replaces the settings field of the page's platform.
    settings: Settings | UnsetType | None = UNSET


class PagesOfPost(PostContent, kw_only=True):
    """A client's request to schedule or publish on one page, or on several that get one post each.

    With several pages, each settings field applies to the pages of its platform.
    """

    #: Exactly one of these fields is given. The value is appended to the operation's name to name the body with this
    #: field.
    ONE_OF: ClassVar[dict[str, str]] = {"page_id": "", "page_ids": "s"}
    #: Fields that may be given only together with another one.
    ONLY_WITH: ClassVar[dict[str, str]] = {"overrides": "page_ids"}
    page_id: str | None = None
    page_ids: PageIds | None = None
    #: Another text or other settings for some of the pages, each named once.
    overrides: Annotated[tuple[PageOverride, ...], Meta(max_length=MAX_PAGES_PER_CALL)] = ()


class PublishOnPages(PagesOfPost, kw_only=True):
    pass


class ScheduleOnPages(PagesOfPost, kw_only=True):
    scheduled_at: datetime


class ValidateOnPages(PagesOfPost, kw_only=True):
    """A dry run. Without scheduled_at it judges an immediate publish. Texts that are too long are findings."""

    message: str | None = None
    first_comment: str | None = None
    scheduled_at: datetime | None = None


class PageContent(Record):
    """One of several pages. A message or settings that are set replace the call's."""

    page_id: str
    message: str | UnsetType | None = UNSET
    settings: Settings | UnsetType | None = UNSET


class PlannedPage(PageContent, kw_only=True):
    """A page whose post has its own operation, derived from the call's."""

    operation_id: str
    #: False: validated with the others but not posted, because the quota is used up.
    goes: bool = True


class PublishPosts(PostContent, kw_only=True):
    pages: tuple[PlannedPage, ...]


class SchedulePosts(PublishPosts, kw_only=True):
    scheduled_at: datetime


class ValidatePost(PostContent, kw_only=True):
    """A dry run. Without scheduled_at it judges an immediate publish. Texts that are too long are findings."""

    page_id: str
    message: str | None = None
    first_comment: str | None = None
    scheduled_at: datetime | None = None


class ValidatePosts(PostContent, kw_only=True):
    """A dry run for several pages."""

    pages: tuple[PageContent, ...]
    scheduled_at: datetime | None = None


@with_settings(Settings | UnsetType | None, UNSET)
class EditPost(Record):
    """PATCH: only the fields that are sent change; null clears an optional field."""

    id: str
    scheduled_at: datetime | UnsetType = UNSET
    message: Message | UnsetType | None = UNSET
    media_ids: tuple[str, ...] | UnsetType = UNSET
    media_urls: tuple[str, ...] | UnsetType = UNSET
    first_comment: Annotated[str, Meta(max_length=8000)] | UnsetType | None = UNSET


class PostHold(Record):
    """Why a post is held: its maker lost access."""

    #: token_revoked or collaborator_removed
    reason: LostAccess
    held_at: datetime
    made_by: Maker


class FirstCommentResult(Record):
    """The outcome of a published post's first comment."""

    #: pending, published or failed
    status: FirstCommentStatus
    #: Set when it has failed: the post itself stays published.
    error: PostError | None = None


class ScheduledPost(PostContent, kw_only=True):
    """A post with a time, in any state (spec "ScheduledPost")."""

    id: str
    page_id: str
    brand_id: str
    platform: PlatformCode
    media: tuple[MediaItem, ...]
    scheduled_at: datetime
    #: queued, held, published, failed or cancelled; a post being sent right now is still queued.
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


class ListScheduledPosts(Record):
    page_id: str | None = None
    #: Comma-separated of queued, held, failed, cancelled, published; or all.
    status: str = "queued"
    limit: Limit = 50
    cursor: str | None = None


class ScheduledPostList(Record):
    scheduled_posts: tuple[ScheduledPost, ...]
    next_cursor: str | None = None


class HeldPosts(Record):
    """Selects held posts that the caller may access: these, those of one maker, or all."""

    #: As in `PagesOfPost`.
    ONE_OF: ClassVar[dict[str, str]] = {"post_ids": "", "made_by": "OfMaker"}
    post_ids: Annotated[tuple[str, ...], Meta(min_length=1, max_length=100)] | None = None
    #: The id of a user or a token, or `anybody`.
    made_by: Annotated[str, Meta(min_length=1, max_length=64)] | None = None


class ReleasePosts(HeldPosts, kw_only=True):
    #: Whether posts whose time has passed stay held or are published now.
    past_due: Literal["hold", "now"] = "hold"


class RefusedPost(Record):
    """A selected post that was not changed."""

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
    """An error of a post, with what to do. The message holds the platform's own text and code."""

    recommended_fix: str


class PostAttempt(Record):
    """One attempt to publish a post."""

    number: int
    #: open (no answer yet, or being looked up), published, refused (by the platform), not_published (looked up and not
    #: there) or given_up (the platform did not reveal the result for a day)
    outcome: AttemptStatus
    began_at: datetime
    ended_at: datetime | None
    error: PostProblem | None


class PageOfPost(Record):
    """The page of a post, as it is now."""

    id: str
    name: str
    username: str | None
    expired: bool
    #: When the page was unlinked; the post stays.
    unlinked_at: datetime | None


class FullPost(PostContent, kw_only=True):
    """Everything known about a post, published at once or scheduled, in any state."""

    id: str
    #: scheduled, or immediate: published at once
    origin: PostOrigin
    #: queued, held, published, failed or cancelled; a post being sent right now is still queued.
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


class PublishResult(Record):
    """The result of an immediate publish (spec "Publish result fields")."""

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
    """The result for one of several pages: its post, or the error that a call for this page alone would get."""

    page_id: str
    #: HTTP status that a call for this page alone would get.
    status: int
    scheduled_post: ScheduledPost | None = None
    post: PublishResult | None = None
    error: dict[str, Any] | None = None


class PageResults(Record):
    """One result per page, in the order of the request."""

    results: tuple[PageResult, ...]


class Finding(Record):
    """One finding of a dry run. `code`: the error code of the real call."""

    code: str
    message: str
    field: str | None = None


class MediaChange(Record):
    """What will be made of a file because the platform does not take it as it is. The original is kept."""

    #: media_ids[0] and so on.
    field: str
    message: str
    mime_type: str
    #: In pixels, at most; None: as the file's.
    width: int | None = None
    height: int | None = None


class Validation(Record):
    valid: bool
    errors: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    #: What will be made of the files, as information.
    media_changes: tuple[MediaChange, ...] = ()


class PageValidation(Validation, kw_only=True):
    """What a call for this page alone would find."""

    page_id: str


class PageValidations(Record):
    """One validation per page, in the order of the request."""

    #: Whether the post is valid on every page.
    valid: bool
    results: tuple[PageValidation, ...]


class ListPublishedPosts(Record):
    page_id: str | None = None
    platform: PlatformName | None = None
    since: datetime | None = None
    limit: Limit = 50
    cursor: str | None = None


class Metrics(Record):
    likes: int = 0
    comments: int = 0
    shares: int = 0


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
    #: Set on a post with a first comment.
    first_comment_result: FirstCommentResult | None = None


class PublishedPostList(Record):
    published_posts: tuple[PublishedPost, ...]
    next_cursor: str | None = None


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


class ListComments(Record):
    post_id: str
    page_id: str | None = None
    since: datetime | None = None
    limit: Limit = 50
    cursor: str | None = None


class CommentList(Record):
    comments: tuple[Comment, ...]
    next_cursor: str | None = None


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
    """A platform's request to verify that a webhook URL is ours. `platform` is its full lowercase name."""

    platform: str
    mode: str
    token: str


class ReceiveHook(Record):
    """A platform's webhook call as received: its signature covers the exact bytes. The body is zlib-deflated."""

    platform: str
    deflated_body: bytes
    signature: str


@called_by(
    gateway=(
        "list_pages get_page count_pages check_page unlink_page begin_link finish_link view_link"
        " decide_link get_link choose_accounts schedule_post publish_post schedule_posts publish_posts"
        " validate_post validate_posts get_post list_scheduled_posts get_scheduled_post edit_post cancel_post"
        " retry_post"
        " release_held_posts cancel_held_posts list_published_posts get_engagement list_comments"
        " reply_to_comment verify_hook receive_hook"
    ),
    ctl="list_pages link_page expire_page check_platform get_scheduled_post bring_post_due rotate_keys",
)
class PublishingApi(Protocol):
    """RPC surface of the publishing service."""

    def list_pages(self, caller: Caller, request: ListPages) -> PageList: ...
    def get_page(self, caller: Caller, request: GetPage) -> Page: ...
    def count_pages(self, caller: Caller, request: CountPages) -> PageCounts: ...
    def link_page(self, caller: Caller, request: LinkPage) -> Page: ...
    def expire_page(self, caller: Caller, request: GetPage) -> Page: ...
    def check_page(self, caller: Caller, request: GetPage) -> PageHealth: ...
    def check_platform(self, caller: Caller, request: CheckPlatform) -> PlatformReport: ...
    def unlink_page(self, caller: Caller, request: UnlinkPage) -> PageUnlinked: ...
    def begin_link(self, caller: Caller, request: BeginLink) -> LinkBegun: ...
    def finish_link(self, caller: Caller, request: FinishLink) -> LinkSession: ...
    def view_link(self, caller: Caller, request: ViewLink) -> LinkPageView: ...
    def decide_link(self, caller: Caller, request: DecideLink) -> LinkPageView: ...
    def get_link(self, caller: Caller, request: GetLink) -> LinkSession: ...
    def choose_accounts(self, caller: Caller, request: ChooseAccounts) -> PagesLinked: ...
    def schedule_post(self, caller: Caller, request: SchedulePost) -> ScheduledPost: ...
    def publish_post(self, caller: Caller, request: PublishPost) -> PublishResult: ...
    def schedule_posts(self, caller: Caller, request: SchedulePosts) -> PageResults: ...
    def publish_posts(self, caller: Caller, request: PublishPosts) -> PageResults: ...
    def validate_post(self, caller: Caller, request: ValidatePost) -> Validation: ...
    def validate_posts(self, caller: Caller, request: ValidatePosts) -> PageValidations: ...
    def get_post(self, caller: Caller, request: PostId) -> FullPost: ...
    def list_scheduled_posts(self, caller: Caller, request: ListScheduledPosts) -> ScheduledPostList: ...
    def get_scheduled_post(self, caller: Caller, request: PostId) -> ScheduledPost: ...
    def edit_post(self, caller: Caller, request: EditPost) -> ScheduledPost: ...
    def cancel_post(self, caller: Caller, request: PostId) -> Cancelled: ...
    def retry_post(self, caller: Caller, request: PostId) -> ScheduledPost: ...
    def release_held_posts(self, caller: Caller, request: ReleasePosts) -> PostsReleased: ...
    def cancel_held_posts(self, caller: Caller, request: HeldPosts) -> HeldPostsCancelled: ...
    def bring_post_due(self, caller: Caller, request: PostId) -> ScheduledPost: ...
    def list_published_posts(self, caller: Caller, request: ListPublishedPosts) -> PublishedPostList: ...
    def get_engagement(self, caller: Caller, request: PostId) -> Engagement: ...
    def list_comments(self, caller: Caller, request: ListComments) -> CommentList: ...
    def reply_to_comment(self, caller: Caller, request: ReplyToComment) -> Reply: ...
    def verify_hook(self, caller: Caller, request: VerifyHook) -> Nothing: ...
    def receive_hook(self, caller: Caller, request: ReceiveHook) -> Nothing: ...
    def rotate_keys(self, caller: Caller, request: RotateKeys) -> KeysRotated: ...
