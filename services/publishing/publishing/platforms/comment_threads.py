"""Reads the comments of a post, one page of the list after the other, on platforms that list threads: comments with
their replies.

Such a platform counts only threads, so a page of its list may have more comments and replies than the client asked for.
The next call then reads the same page of the list again, and continues after the last comment that was shown.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC

from chassis.cursor import decode_cursor, encode_cursor
from contracts.errors import ApiError
from publishing.platforms.base import CommentPage, CommentQuery, PlatformRefusal, Refusal, RemoteComment
from publishing.platforms.http_client import Answer
from publishing.platforms.lists import listing_ends, threads_read

#: First comments with their replies.
Threads = list[tuple[Answer, list[Answer]]]


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a list of comments: a page of the platform's list, and the last comment on it that was shown."""

    #: Where the platform's page begins, in the platform's own terms; empty: at the head of the list.
    token: str
    #: How many threads the page has.
    size: int
    #: `_order` of the last comment shown; empty: none of this page.
    shown: tuple[str, ...] = ()

    @property
    def cursor(self) -> str:
        return encode_cursor(self.token, str(self.size), *(self.shown or ("", "")))

    @classmethod
    def of(cls, query: CommentQuery, largest: int) -> "Place":
        """Returns the position at which the query's cursor points. `largest`: how many threads the platform's largest
        page has. Raises PlatformRefusal for a cursor that we did not make.
        """
        if not query.cursor:
            return cls("", min(query.limit, largest))
        try:
            token, size, *shown = decode_cursor(query.cursor, 4)
        except ApiError:
            raise invalid_cursor() from None
        if size not in map(str, range(1, largest + 1)):
            raise invalid_cursor()
        return cls(token, int(size), tuple(shown) if shown[0] else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadList:
    """The functions that read the threads under a post on one platform."""

    #: The platform's largest page.
    largest: int
    #: Reads a page: its rows, and the token of the page after it (None: the list ends).
    page: Callable[[Place], tuple[list[Answer], str | None]]
    #: Returns the token of the page after `Place`, without reading the rows of `Place` again.
    next_token: Callable[[Place], str | None]
    #: Reads a row's replies until this time (`lists.listing_ends`).
    replies: Callable[[Answer, float], Iterable[Answer]]
    comments: Callable[[Threads], Iterable[RemoteComment]]


def comment_page(query: CommentQuery, source: ThreadList) -> CommentPage:
    """Reads one page of a post's comments. Raises PlatformRefusal if the platform refuses."""
    until = listing_ends()
    place = Place.of(query, source.largest)
    rows, token = source.page(place)
    threads = threads_read(rows, lambda row: source.replies(row, until))
    if is_cut := len(threads) < len(rows):
        place = replace(place, size=len(threads))
    comments = [
        one
        for one in sorted(source.comments(threads), key=_order, reverse=True)
        if (query.since is None or one.created_at > query.since)
        and (not place.shown or _order(one) < place.shown)
    ]
    if len(comments) > query.limit:
        rest = replace(place, shown=_order(comments[query.limit - 1]))
        return CommentPage(tuple(comments[: query.limit]), rest.cursor)
    if is_cut:
        token = source.next_token(place)
    following = Place(token, min(query.limit, source.largest)).cursor if token else None
    return CommentPage(tuple(comments), following)


def invalid_cursor() -> PlatformRefusal:
    return PlatformRefusal(Refusal.REJECTED, "INVALID_CURSOR", "This is not a place in the list.")


def _order(comment: RemoteComment) -> tuple[str, str]:
    """Returns the sort key of a comment (time, then id) as text, so that a cursor can hold it."""
    return comment.created_at.astimezone(UTC).isoformat(timespec="milliseconds"), comment.id
