"""Evaluates the headers of conditional and partial GETs (RFC 9110, 13 and 14). Pure. ETags are passed without
quotes."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from werkzeug.http import parse_date, parse_etags, parse_if_range_header, parse_range_header


class Unsatisfiable(Exception):
    """Raised when the requested range begins after the file's end."""


def is_known(environ: Mapping[str, Any], etag: str, modified_at: datetime) -> bool:
    """Whether the client already has this state of the file, so that the answer is 304."""
    if "HTTP_IF_NONE_MATCH" in environ:
        return parse_etags(environ["HTTP_IF_NONE_MATCH"]).contains_weak(etag)
    since = parse_date(environ.get("HTTP_IF_MODIFIED_SINCE"))
    return since is not None and modified_at.replace(microsecond=0) <= since


def span_of(
    environ: Mapping[str, Any], etag: str, modified_at: datetime, size_bytes: int
) -> tuple[int, int] | None:
    """Returns the first and last byte that a GET requests; None for the whole file.

    A request for several ranges gets the whole file too (RFC 9110, 14.2). Raises Unsatisfiable if the range begins
    after the file's end.
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
    """Whether the parts that the client already has belong to this state of the file (If-Range).

    A weak ETag does not prove that.
    """
    if if_range is None:
        return True
    condition = parse_if_range_header(if_range)
    if condition.date is not None:
        return condition.date == modified_at.replace(microsecond=0)
    return condition.etag == etag and not if_range.strip().startswith("W/")
