"""Rows of the service's tables as the store returns them, and what clients see of them."""

import posixpath
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, Self, dataclass_transform
from urllib.parse import urlsplit

import msgspec

from chassis.vault import Vault
from contracts import publishing as api
from contracts.caller import Caller, Maker
from contracts.errors import NOT_FOUND, ApiError
from contracts.media import thumbnail_of
from contracts.record import Record
from contracts.renditions import FileFacts
from publishing.platforms.base import MediaSource

#: States of a post that clients see as `queued` (decisions "Pending scheduled post").
PENDING = ("queued", "sending", "unknown")
#: States of a post that has not ended and so keeps its files.
UNENDED = (*PENDING, "held")
#: States in which a post is or may be published.
OUT = ("sending", "unknown", "published")

#: Characters of a text that calendars show, our choice: more than a day of a month has room for.
_SHORT_TEXT = 280
_ENDINGS = {
    "photo": (".jpg", ".jpeg", ".png", ".gif", ".webp"),
    "video": (".mp4", ".mov", ".m4v", ".webm"),
}


class Attached(FileFacts, kw_only=True):
    """A file as the media service described it when it was attached: enough to show and check it without asking
    again."""

    media_id: str
    #: Public.
    url: str
    mime_type: str
    size_bytes: int

    @property
    def source(self) -> MediaSource:
        """The file's properties and URL, as the checks of a platform's limits need them. Its bytes are fetched only
        when the post is sent."""
        return MediaSource.of(FileFacts.made_from(self), url=self.url)


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Row(msgspec.Struct, frozen=True):
    """A row of a table, with times in UTC. A msgspec Struct, because lists have many rows and making a frozen dataclass
    takes ten times as long."""

    @classmethod
    def of(cls, row: Mapping[Any, Any]) -> Self:
        return cls(*[row[name] for name in column_names(cls)])


@cache
def column_names(kind: type[Row]) -> tuple[str, ...]:
    """Returns the names of the columns that this class of row reads from its table, in the order of its fields."""
    return kind.__struct_fields__


@cache
def _untouched(kind: type[Row]) -> dict[str, Any]:
    """Returns the value that each column has by default: 0 for numbers, else None."""
    return {field.name: 0 if field.type is int else None for field in msgspec.structs.fields(kind)}


class PageRow(Row):
    """A row of the table of linked pages, with the encrypted token."""

    id: str
    account_id: str
    brand_id: str
    brand_name: str
    platform: str
    remote_account_id: str
    access_token: str
    name: str
    username: str | None
    followers: int
    picture: str | None
    expired: bool
    created_at: datetime
    unlinked_at: datetime | None = None
    grant_id: str | None = None
    message_limit: int | None = None
    checked_at: datetime | None = None
    missing_permissions: list[str] | None = None
    token_expires_at: datetime | None = None

    @property
    def remote_page(self) -> str:
        """The name under which locks know this page of the platform. All brands and accounts that link the page share
        it.
        """
        return f"{self.platform}:{self.remote_account_id}"

    def view(self, last_refusal: api.LastRefusal | None = None) -> api.Page:
        missing = self.missing_permissions
        return api.Page.made_from(
            self,
            account_id=self.remote_account_id,
            missing_permissions=None if missing is None else tuple(missing),
            last_refusal=last_refusal,
        )


class Credentials(Record, omit_defaults=True):
    """The credentials of a page. Times are by the database's clock. Never logged.

    Stored as encrypted JSON. For a page that the operator linked, and in rows of old releases, only the encrypted
    access token is stored.
    """

    access_token: str
    refresh_token: str | None = None
    #: When the access token expires; None: never, or not known.
    expires_at: datetime | None = None
    #: The granted scopes; None: not known.
    scopes: tuple[str, ...] | None = None
    #: The app that issued them, where a platform has several (`Login.app_name`); None: the only one, or not known.
    app: str | None = None
    renewed_at: datetime | None = None

    def __repr__(self) -> str:
        return "Credentials(…)"

    @classmethod
    def opened(cls, vault: Vault, stored: str) -> "Credentials":
        """Decrypts a page's stored credentials. Raises UnreadableSecret if no configured key fits."""
        text = vault.decrypt(stored)
        if text.startswith("{"):  # no platform's tokens do
            return msgspec.json.decode(text, type=cls)
        return cls(access_token=text)


class Expired(NamedTuple):
    """The end of a page's connection: the page with the refused credentials, and the platform's error."""

    page: PageRow
    code: str
    message: str
    reconnect_url: str


def reached(caller: Caller, page: PageRow | None, field: str | None = "page_id") -> PageRow:
    """Returns the page if it is linked and the caller may use it.

    Otherwise raises NOT_FOUND (with `field`), or BRAND_NOT_AUTHORIZED for a page of a brand that the token may not
    use.
    """
    if page is None or page.unlinked_at is not None:
        raise ApiError(NOT_FOUND, **({"field": field} if field else {}))
    caller.check_reach(page.account_id, page.brand_id, field=field)
    return page


class Post(Row):
    """A row of the table of posts, scheduled or published at once. `models.posts` explains the columns."""

    id: str
    operation_id: str | None
    account_id: str
    brand_id: str
    page_id: str
    platform: str
    origin: str
    message: str | None
    media_ids: list[str]
    media_urls: list[str]
    media_files: list[dict[str, Any]] | None
    media_types: list[str] | None
    first_comment: str | None
    settings: dict[str, Any] | None
    created_at: datetime
    scheduled_at: datetime
    state: str
    out_at: datetime | None
    attempts: int
    attempts_before: int
    fence: int
    checkpoint: dict[str, Any] | None
    remote_id: str | None
    permalink: str | None
    error_code: str | None
    error_message: str | None
    likes: int
    comments: int
    shares: int
    comment_state: str | None
    comment_began_at: datetime | None
    comment_attempts: int
    comment_fence: int
    traceparent: str | None = None
    media_revision: int = 0
    awaited_until: datetime | None = None
    worker_id: str | None = None
    maker_user_id: str | None = None
    maker_token_id: str | None = None
    held_at: datetime | None = None
    hold_reason: str | None = None
    comment_error_code: str | None = None
    comment_error_message: str | None = None
    reports_at_once: bool | None = None
    commented_at: datetime | None = None

    @classmethod
    def new(cls, values: Mapping[str, Any]) -> Self:
        """Returns the row as the table has it after these values are inserted; the other columns have their
        defaults."""
        return cls(**_untouched(cls) | dict(values))

    @property
    def status(self) -> str:
        """The status that clients see: `queued` for every pending state, otherwise the state itself."""
        return "queued" if self.state in PENDING else self.state

    @property
    def published_at(self) -> datetime | None:
        return self.out_at if self.state == "published" else None

    @property
    def active_at(self) -> datetime | None:
        """When the newest comment of a visitor was received or, without one, when the post was published."""
        return self.commented_at or self.published_at

    @property
    def next_attempt_at(self) -> datetime | None:
        return self.out_at if self.state == "queued" else None

    @property
    def error(self) -> api.PostError | None:
        if self.error_code is None:
            return None
        return api.PostError(code=self.error_code, message=self.error_message or "")

    @property
    def first_comment_result(self) -> api.FirstCommentResult | None:
        """The outcome of the first comment; None for a post without one, and before the post is published."""
        if self.comment_state is None:
            return None
        status = {"done": "published", "failed": "failed"}.get(self.comment_state, "pending")
        if self.comment_error_code is None:
            return api.FirstCommentResult(status=status)
        error = api.PostError(code=self.comment_error_code, message=self.comment_error_message or "")
        return api.FirstCommentResult(status=status, error=error)

    @property
    def made_by(self) -> Maker:
        """The maker of the post. Without a maker, the user id is empty and the token id None."""
        return Maker(user_id=self.maker_user_id or "", token_id=self.maker_token_id)

    @property
    def hold(self) -> api.PostHold | None:
        """The reason and time of the hold, and the post's maker; None if the post is not held."""
        if self.state != "held":
            return None
        assert self.held_at is not None
        return api.PostHold(reason=self.hold_reason or "", held_at=self.held_at, made_by=self.made_by)

    @property
    def files(self) -> tuple[Attached, ...]:
        """The files behind media_ids, in the order of the ids."""
        return msgspec.convert(self.media_files or (), tuple[Attached, ...])

    @property
    def media(self) -> tuple[api.MediaItem, ...]:
        """The post's media as they are shown and sent: files of media_ids first, then media_urls."""
        types = self.media_types or [media_type_of(url) or "photo" for url in self.media_urls]
        by_url = zip(self.media_urls, types, strict=True)
        return (
            *(
                api.MediaItem(src=file.url, type=file.type, thumbnail_url=thumbnail_of(file.url))
                for file in self.files
            ),
            *(api.MediaItem(src=url, type=kind) for url, kind in by_url),
        )

    @property
    def owner(self) -> Caller:
        """The caller that our calls to the media service name if no client's request causes them: the post's account,
        with all its brands.
        """
        return Caller(account_id=self.account_id, user_id=self.account_id)

    @property
    def content(self) -> api.PostContent:
        return api.PostContent(
            message=self.message,
            media_ids=tuple(self.media_ids),
            media_urls=tuple(self.media_urls),
            first_comment=self.first_comment,
            **(self.settings or {}),
        )

    def scheduled_view(self) -> api.ScheduledPost:
        return api.ScheduledPost.made_from(
            self, media_ids=tuple(self.media_ids), media_urls=tuple(self.media_urls), **self.settings or {}
        )

    def calendar_view(self) -> api.CalendarPost:
        kinds = [it.type for it in self.media]
        return api.CalendarPost.made_from(
            self, at=self.published_at or self.scheduled_at, message=self.message and self.message[:_SHORT_TEXT],
            photos=kinds.count("photo"), videos=kinds.count("video"),
        )  # fmt: skip

    def published_view(self) -> api.PublishedPost:
        return api.PublishedPost.made_from(
            self, metrics=api.Metrics.made_from(self), last_comment_at=self.commented_at
        )

    def result_view(self) -> api.PublishResult:
        return api.PublishResult.made_from(
            self, post_id=self.id, status=self.state, was_published=True, platform_post_id=self.remote_id
        )


class OpenPost(NamedTuple):
    """Another post of the page that may be on the platform although we do not know its remote id."""

    post: Post
    #: Whether this post's last attempt began before the attempt that is looked up.
    is_earlier: bool


def media_type_of(url: str) -> str | None:
    """Returns photo or video by the ending of the URL's path; None for other endings. When the post is published, the
    file's bytes decide."""
    ending = posixpath.splitext(urlsplit(url).path)[1].lower()
    return next((kind for kind, endings in _ENDINGS.items() if ending in endings), None)


class Poll(Row):
    """A claimed row of the table of comment polls. `models.comment_polls` explains the columns."""

    post_id: str
    page_id: str
    fence: int
    since: datetime | None
    cursor: str | None
    newest: datetime | None
    is_full: bool
    #: The page's columns, like the next two.
    platform: str
    subscribed: bool
    expired: bool
    #: The age of the post, by `clock_now()`.
    age_seconds: float
    #: Real time since the list was last read from end to end; None: never.
    full_seconds: float | None
    #: How long the platform still takes no calls for the page.
    rest_seconds: float | None
