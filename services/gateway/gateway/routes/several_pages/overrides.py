"""Applies a request's `overrides`: other texts or settings for some pages (docs/decisions.md, "page_ids"). Pure."""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import UNSET

from contracts import publishing as api
from contracts.errors import NOT_FOUND, ApiError, invalid
from gateway.http.request_reader import ID


def pages_of(request: api.PagesOfPost) -> tuple[api.PageContent, ...]:
    """Returns the pages of a request, each with its own message and settings, in the order of the request.

    Raises NOT_FOUND for a malformed id. Raises VALIDATION_ERROR if `page_ids` or `overrides` names a page twice, or if
    an override is for a page that is not in `page_ids`.
    """
    page_ids = request.page_ids or ()
    if len(set(page_ids)) < len(page_ids):
        raise invalid("page_ids", "Names a page more than once")
    if not all(map(ID.fullmatch, page_ids)):  # they become parts of keys, whose length is limited
        raise ApiError(NOT_FOUND, field="page_ids")
    own: dict[str, api.PageOverride] = {}
    for number, override in enumerate(request.overrides):
        if override.page_id not in page_ids:
            raise invalid(f"overrides[{number}].page_id", "is not one of page_ids")
        if override.page_id in own:
            raise invalid(f"overrides[{number}].page_id", "names a page more than once")
        own[override.page_id] = override
    return tuple(
        api.PageContent(page_id=page_id, message=own[page_id].message, settings=own[page_id].settings)
        if page_id in own
        else api.PageContent(page_id=page_id)
        for page_id in page_ids
    )


def renamed(error: ApiError, request: api.PagesOfPost) -> ApiError:
    """Returns a page's error in which each field has the name that it has in the client's request, such as
    `overrides[0].message`.
    """
    page_id, rows = error.extras.get("page_id"), error.extras.get("errors")
    if page_id is None or not rows:
        return error
    extras, message = dict(error.extras), error.message
    extras["errors"] = [{**row, "field": field_of(row["field"], page_id, request)} for row in rows]
    for before, after in zip(rows, extras["errors"], strict=True):
        message = message.replace(before["field"], after["field"], 1)
    return ApiError(error.row, message, **extras)


def findings_of(
    found: Iterable[api.Finding], page_id: str, request: api.PagesOfPost
) -> tuple[api.Finding, ...]:
    """Returns a page's errors and warnings, in which each field has the name that it has in the client's request."""
    renamed_findings = []
    for finding in found:
        if finding.field is not None:
            field = field_of(finding.field, page_id, request)
            message = finding.message.replace(finding.field, field, 1)
            finding = msgspec.structs.replace(finding, field=field, message=message)
        renamed_findings.append(finding)
    return tuple(renamed_findings)


def field_of(field: str, page_id: str, request: api.PagesOfPost) -> str:
    """Returns where the client wrote a post's field: in the page's override if that sets it, else in the request."""
    places: Mapping[str, int] = {one.page_id: number for number, one in enumerate(request.overrides)}
    if page_id not in places:
        return field
    number = places[page_id]
    override, (name, dot, rest) = request.overrides[number], field.partition(".")
    if name == "message" and override.message is not UNSET:
        return f"overrides[{number}].message"
    if name.endswith("_settings") and override.settings is not UNSET:
        return f"overrides[{number}].settings{dot}{rest}"
    return field
