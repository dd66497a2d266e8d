"""What a check of a post finds before it is sent."""

from contracts.record import Record


class Finding(Record):
    """One problem that a check of a post found. `code` is the error that the real call would get."""

    code: str
    message: str
    field: str | None = None


class MediaChange(Record):
    """How a file will be converted because the platform does not take it as it is. The original is kept."""

    #: `media_ids[0]` and so on.
    field: str
    message: str
    mime_type: str
    #: The largest width and height in pixels; None: the file keeps its own.
    width: int | None = None
    height: int | None = None


class Validation(Record):
    valid: bool
    errors: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    #: The files that will be converted, for information.
    media_changes: tuple[MediaChange, ...] = ()


class PageValidation(Validation, kw_only=True):
    """The result of checking a post for one of several pages."""

    page_id: str


class PageValidations(Record):
    """One validation per page, in the order of the request."""

    #: Whether the post is valid on every page.
    valid: bool
    results: tuple[PageValidation, ...]
