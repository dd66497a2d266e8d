"""What clients send to schedule, publish, validate or edit a post, on one page or on several."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, ClassVar, TypeVar

from msgspec import UNSET, Meta, UnsetType, defstruct

from contracts.platforms import PLATFORMS
from contracts.record import Record

#: Spec "Request field limits". The platform's own limit applies too.
MAX_MESSAGE_LENGTH = 5_000
Message = Annotated[str, Meta(max_length=MAX_MESSAGE_LENGTH)]
#: decisions: media_ids and media_urls together. The platform's own limit applies too.
MAX_MEDIA_PER_POST = 10
Settings = dict[str, Any]
#: decisions "page_ids (several pages)".
MAX_PAGES_PER_CALL = 20
PageIds = Annotated[tuple[str, ...], Meta(min_length=1, max_length=MAX_PAGES_PER_CALL)]
R = TypeVar("R", bound=Record)
# Described, not enforced: another release may know more values.
MediaKind = Annotated[str, Meta(extra_json_schema={"enum": ["photo", "video"]})]


def with_settings(kind: Any, default: Any) -> Callable[[type[R]], type[R]]:
    """Returns a class decorator that adds a field `<name>_settings` for each platform, after the record's own fields.

    `kind` and `default`: type and default of these fields.
    """

    def extended(record: type[R]) -> type[R]:
        fields = [(platform.settings_field, kind, default) for platform in PLATFORMS.values()]
        named = {"__doc__": record.__doc__, "__qualname__": record.__qualname__}
        made: Any = defstruct(
            record.__name__, fields, bases=(record,), module=record.__module__, namespace=named
        )
        return made  # type: ignore[no-any-return]

    return extended


class MediaItem(Record):
    src: str
    #: `photo` or `video`
    type: MediaKind
    #: A small JPEG of an uploaded file, ready a moment after the upload. None until then, and if none can be made.
    thumbnail_url: str | None = None


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
    """How the post on one of several pages differs: fields that are sent replace those of the whole call."""

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
    """A request to check a post without storing it, on one page or several.

    Without scheduled_at it is checked as an immediate publish. Texts that are too long are findings, not errors.
    """

    message: str | None = None
    first_comment: str | None = None
    scheduled_at: datetime | None = None


class PageContent(Record):
    """One of the pages of a call, with the message or settings that replace those of the whole call."""

    page_id: str
    message: str | UnsetType | None = UNSET
    settings: Settings | UnsetType | None = UNSET


class PlannedPage(PageContent, kw_only=True):
    """One of the pages of a call, with the id of the operation that makes its post. That id is derived from the
    operation id of the call."""

    operation_id: str
    #: False: validated with the others but not posted, because the quota is used up.
    goes: bool = True


class PublishPosts(PostContent, kw_only=True):
    pages: tuple[PlannedPage, ...]


class SchedulePosts(PublishPosts, kw_only=True):
    scheduled_at: datetime


class ValidatePost(PostContent, kw_only=True):
    """A request to check a post on one page without storing it.

    Without scheduled_at it is checked as an immediate publish. Texts that are too long are findings, not errors.
    """

    page_id: str
    message: str | None = None
    first_comment: str | None = None
    scheduled_at: datetime | None = None


class ValidatePosts(PostContent, kw_only=True):
    """A request to check a post on several pages without storing it."""

    pages: tuple[PageContent, ...]
    scheduled_at: datetime | None = None


@with_settings(Settings | UnsetType | None, UNSET)
class EditPost(Record):
    """A request to change a queued post. Only fields that are sent change; null clears an optional field."""

    id: str
    scheduled_at: datetime | UnsetType = UNSET
    message: Message | UnsetType | None = UNSET
    media_ids: tuple[str, ...] | UnsetType = UNSET
    media_urls: tuple[str, ...] | UnsetType = UNSET
    first_comment: Annotated[str, Meta(max_length=8000)] | UnsetType | None = UNSET
