"""Conditional and partial GETs (RFC 9110, 13 and 14): what a request's headers ask for. Pure; tags without quotes."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from werkzeug.http import parse_date, parse_etags, parse_if_range_header, parse_range_header


class Unsatisfiable(Exception):
    """The range begins behind the file's end."""


def is_known(environ: Mapping[str, Any], etag: str, modified_at: datetime) -> bool:
    """Whether the client has the file already: 304."""
    if "HTTP_IF_NONE_MATCH" in environ:
        return parse_etags(environ["HTTP_IF_NONE_MATCH"]).contains_weak(etag)
    since = parse_date(environ.get("HTTP_IF_MODIFIED_SINCE"))
    return since is not None and modified_at.replace(microsecond=0) <= since


def span_of(
    environ: Mapping[str, Any], etag: str, modified_at: datetime, size_bytes: int
) -> tuple[int, int] | None:
    """First and last byte a GET asks for; None: the whole file. Several ranges get the whole too, as may be.

    Raises Unsatisfiable.
    """
    asked = parse_range_header(environ.get("HTTP_RANGE"))
    if (
        asked is None
        or asked.units != "bytes"
        or len(asked.ranges) != 1
        or environ["REQUEST_METHOD"] != "GET"
    ):
        return None
    if not _is_same(environ.get("HTTP_IF_RANGE"), etag, modified_at):
        return None
    found = asked.range_for_length(size_bytes)
    if found is None:
        raise Unsatisfiable
    return found[0], found[1] - 1


def _is_same(if_range: str | None, etag: str, modified_at: datetime) -> bool:
    """Whether the parts that the client has are of this very file; a weak tag does not say that."""
    if if_range is None:
        return True
    condition = parse_if_range_header(if_range)
    if condition.date is not None:
        return condition.date == modified_at.replace(microsecond=0)
    return condition.etag == etag and not if_range.strip().startswith("W/")
