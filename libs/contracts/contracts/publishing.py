"""The publishing service's surface: pages, posts, guardrails' answers, comments, engagement."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Protocol, TypeVar

from msgspec import UNSET, Meta, UnsetType, defstruct, field

from contracts.caller import Caller
from contracts.keys import KeysRotated, RotateKeys
from contracts.maker import Maker
from contracts.platforms import PLATFORMS
from contracts.record import Nothing, Record
from contracts.senders import called_by

Limit = Annotated[int, Meta(ge=1, le=100)]
#: Spec "Request field limits"; the platform's own limit comes on top.
MAX_MESSAGE_LENGTH = 5_000
Message = Annotated[str, Meta(max_length=MAX_MESSAGE_LENGTH)]
ReplyMessage = Annotated[str, Meta(min_length=1, max_length=8_000)]
#: decisions: media_ids and media_urls together at most 10, then the platform's own limit.
MAX_MEDIA_PER_POST = 10
Settings = dict[str, Any]
#: decisions "page_ids (several pages)".
MAX_PAGES_PER_CALL = 20
PageIds = Annotated[tuple[str, ...], Meta(min_length=1, max_length=MAX_PAGES_PER_CALL)]
R = TypeVar("R", bound=Record)


def with_settings(kind: Any, default: Any) -> Callable[[type[R]], type[R]]:
    """A record with a field of this type more for each platform, `<name>_settings`, behind its own ones."""

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
    platform: str
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
    platform: str | None = None
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
    """A page's connection, as the platform answers for it now."""

    page_id: str
    platform: str
    #: It works and may do everything that is offered.
    healthy: bool
    expired: bool
    #: Permissions that posting, reading and answering need and the connection lacks; None: not known.
    missing_permissions: tuple[str, ...] | None
    #: None: not known, or without an end.
    token_expires_at: datetime | None
    error: PostError | None
    reconnect_url: str | None
    checked_at: datetime


class UnlinkPage(Record):
    id: str
    #: Whether queued posts of the page are cancelled.
    cancel_queued: bool = False


class PageUnlinked(Record):
    success: bool
    id: str
    #: Posts that were cancelled with it.
    cancelled_posts: tuple[str, ...] = ()


class BeginLink(Record):
    """`platform` is a code; the names of brand and account travel with it, as accounts knows them now."""

    platform: str
    brand_id: str
    brand_name: str = ""
    account_name: str = ""
    #: Where the person goes at the end; one of those that the operator has listed for the account.
    return_url: str | None = None


class LinkBegun(Record):
    """`authorize_url` is the page of ours on which a person begins; it works until `expires_at`."""

    session_id: str
    authorize_url: str
    expires_at: datetime


class FinishLink(Record):
    """What came back from a platform's login; `platform` is its full lowercase name. `browser`: see `ViewLink`."""

    platform: str
    state: str = ""
    code: str = ""
    error: str = ""
    error_description: str = ""
    browser: str = ""


class ViewLink(Record):
    """A person opens the page of a session. `browser`: SHA-256 (hex) of the secret that the session's cookie holds."""

    session_id: str
    browser: str


class DecideLink(Record):
    """The person gives the brand access to the pages found, or cancels. `browser`: see `ViewLink`."""

    session_id: str
    browser: str
    is_given: bool


class GetLink(Record):
    session_id: str


class LinkableAccount(Record):
    """A page, profile or channel that may be linked; `page_id` once it is, in this brand."""

    account_id: str
    name: str
    username: str | None
    followers: int
    picture: str | None
    page_id: str | None = None


class LinkSession(Record):
    """How far a linking is."""

    session_id: str
    platform: str
    brand_id: str
    #: pending (nobody came back yet), choose, linked (all that was found), refused (by the person) or failed
    status: str
    accounts: tuple[LinkableAccount, ...]
    error: PostError | None
    expires_at: datetime
    brand_name: str | None = None


class LinkPageView(Record):
    """A session as the person in the browser sees it."""

    session_id: str
    platform: str
    brand_name: str
    account_name: str
    #: start (go to `authorize_url`), wait (the answer of the platform is being read), confirm (`accounts` were found,
    #: nothing is linked yet), then as in `LinkSession`: choose, linked, refused, failed
    status: str
    accounts: tuple[LinkableAccount, ...] = ()
    error: PostError | None = None
    #: The platform's login, for this browser alone.
    authorize_url: str | None = None
    #: The app's address with session and outcome, once there is one.
    return_url: str | None = None


class ChooseAccounts(Record):
    session_id: str
    account_ids: Annotated[tuple[str, ...], Meta(min_length=1, max_length=100)]


class PagesLinked(Record):
    pages: tuple[Page, ...]


class MediaItem(Record):
    src: str
    #: photo or video
    type: str


@with_settings(Settings | None, None)
class PostContent(Record):
    """What a post says and shows; shared by schedule, publish and validate."""

    message: Message | None = None
    media_ids: tuple[str, ...] = ()
    media_urls: tuple[str, ...] = ()
    first_comment: Annotated[str, Meta(max_length=8_000)] | None = None


class SchedulePost(PostContent, kw_only=True):
    page_id: str
    scheduled_at: datetime


class PublishPost(PostContent, kw_only=True):
    page_id: str


class PagesOfPost(PostContent, kw_only=True):
    """What a client sends to schedule and publish: one page, or several that get a post each.

    With several a settings field may be any of their platforms' and is passed over by the others.
    """

    #: Exactly one of these is given.
    ONE_OF: ClassVar[tuple[str, ...]] = ("page_id", "page_ids")
    page_id: str | None = None
    page_ids: PageIds | None = None


class PublishOnPages(PagesOfPost, kw_only=True):
    pass


class ScheduleOnPages(PagesOfPost, kw_only=True):
    scheduled_at: datetime


class PlannedPage(Record):
    """One of several pages. Its post is an operation of its own, derived from the call's."""

    page_id: str
    operation_id: str
    #: False: judged with the others, sent nothing (its quota is used up).
    goes: bool = True


class PublishPosts(PostContent, kw_only=True):
    pages: tuple[PlannedPage, ...]


class SchedulePosts(PublishPosts, kw_only=True):
    scheduled_at: datetime


class ValidatePost(PostContent, kw_only=True):
    """A dry run. Without scheduled_at it is judged as a publish at once. What is too long is one of its findings."""

    page_id: str
    message: str | None = None
    first_comment: str | None = None
    scheduled_at: datetime | None = None


@with_settings(Settings | UnsetType | None, UNSET)
class EditPost(Record):
    """PATCH: only the fields that are sent change; null clears a field that may be empty."""

    id: str
    scheduled_at: datetime | UnsetType = UNSET
    message: Message | UnsetType | None = UNSET
    media_ids: tuple[str, ...] | UnsetType = UNSET
    media_urls: tuple[str, ...] | UnsetType = UNSET
    first_comment: Annotated[str, Meta(max_length=8000)] | UnsetType | None = UNSET


class PostHold(Record):
    """Why a post is held: its maker lost access."""

    #: token_revoked or collaborator_removed
    reason: str
    held_at: datetime
    made_by: Maker


class ScheduledPost(PostContent, kw_only=True):
    """A post with a time, in any state (spec "ScheduledPost")."""

    id: str
    page_id: str
    brand_id: str
    platform: str
    media: tuple[MediaItem, ...]
    scheduled_at: datetime
    #: queued, held, published, failed or cancelled; a post being sent right now is still queued.
    status: str
    created_at: datetime
    attempts: int = 0
    next_attempt_at: datetime | None = None
    remote_id: str | None = None
    permalink: str | None = None
    published_at: datetime | None = None
    error: PostError | None = None
    #: Of a held post.
    hold: PostHold | None = None


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
    """Which held posts within the caller's reach are meant: these, those of one maker, or all."""

    #: Exactly one of these is given.
    ONE_OF: ClassVar[tuple[str, ...]] = ("post_ids", "made_by")
    post_ids: Annotated[tuple[str, ...], Meta(min_length=1, max_length=100)] | None = None
    #: The id of a user or a token, or `anybody`.
    made_by: Annotated[str, Meta(min_length=1, max_length=64)] | None = None


class ReleasePosts(HeldPosts, kw_only=True):
    #: What happens to posts whose time has passed: they stay held, or go out now.
    past_due: Literal["hold", "now"] = "hold"


class RefusedPost(Record):
    """A post that was meant and stays as it is."""

    id: str
    error: PostError


class PostsReleased(Record):
    #: Queued again, soonest first.
    released: tuple[str, ...]
    #: Posts that could not be released, each with the reason; at most 500 posts in all.
    refused: tuple[RefusedPost, ...] = ()
    #: Posts that could be released and are not yet, because one call does 500: repeat it.
    remaining: int = 0


class HeldPostsCancelled(Record):
    cancelled: tuple[str, ...]
    #: Posts that were asked for by their ids and are not held.
    refused: tuple[RefusedPost, ...] = ()
    #: Held posts that were meant and are not cancelled yet, because one call does 500: repeat it.
    remaining: int = 0


class PublishResult(Record):
    """Answer of a publish at once (spec "Publish result fields")."""

    post_id: str
    platform: str
    page_id: str
    brand_id: str
    message: str | None
    media: tuple[MediaItem, ...]
    status: str
    was_published: bool
    platform_post_id: str | None
    published_at: datetime
    permalink: str | None


class PageResult(Record, omit_defaults=True):
    """What became of one of several pages: its post, or the error as the same call for it alone would have had."""

    page_id: str
    #: HTTP status of the same call for this page alone.
    status: int
    scheduled_post: ScheduledPost | None = None
    post: PublishResult | None = None
    error: dict[str, Any] | None = None


class PageResults(Record):
    """One result per page, in the order asked for."""

    results: tuple[PageResult, ...]


class Finding(Record):
    """One finding of a dry run: `code` as the real call would refuse with."""

    code: str
    message: str
    field: str | None = None


class Validation(Record):
    valid: bool
    errors: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()


class ListPublishedPosts(Record):
    page_id: str | None = None
    platform: str | None = None
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
    platform: str
    remote_id: str
    permalink: str | None
    published_at: datetime
    message: str | None
    metrics: Metrics


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
    platform: str
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
    platform: str
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


#: Of a platform's own call, as it came; Meta batches up to 1,000 changes.
MAX_HOOK_BYTES = 2**20
#: Of the same on the bus (architecture: messages stay under 256 KiB; bytes travel as base64).
MAX_DEFLATED_HOOK_BYTES = 128 * 1024


class VerifyHook(Record):
    """A platform asks whether an address of hooks is ours; `platform` is its full lowercase name."""

    platform: str
    mode: str
    token: str


class ReceiveHook(Record):
    """A platform's own call, raw: its signature is over the bytes. The body is zlib-deflated."""

    platform: str
    deflated_body: bytes
    signature: str


@called_by(
    gateway=(
        "list_pages",
        "get_page",
        "count_pages",
        "check_page",
        "unlink_page",
        "begin_link",
        "finish_link",
        "view_link",
        "decide_link",
        "get_link",
        "choose_accounts",
        "schedule_post",
        "publish_post",
        "schedule_posts",
        "publish_posts",
        "validate_post",
        "list_scheduled_posts",
        "get_scheduled_post",
        "edit_post",
        "cancel_post",
        "retry_post",
        "release_held_posts",
        "cancel_held_posts",
        "list_published_posts",
        "get_engagement",
        "list_comments",
        "reply_to_comment",
        "verify_hook",
        "receive_hook",
    ),
    ctl=("list_pages", "link_page", "expire_page", "get_scheduled_post", "bring_post_due", "rotate_keys"),
)
class PublishingApi(Protocol):
    """RPC surface of the publishing service. From the operator alone: link_page, expire_page, bring_post_due,
    rotate_keys."""

    def list_pages(self, caller: Caller, request: ListPages) -> PageList: ...
    def get_page(self, caller: Caller, request: GetPage) -> Page: ...
    def count_pages(self, caller: Caller, request: CountPages) -> PageCounts: ...
    def link_page(self, caller: Caller, request: LinkPage) -> Page: ...
    def expire_page(self, caller: Caller, request: GetPage) -> Page: ...
    def check_page(self, caller: Caller, request: GetPage) -> PageHealth: ...
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
