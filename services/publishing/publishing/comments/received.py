"""Stores the comments read from platforms: each gets an id of ours and, unless the page itself wrote it, one event
comment.received.

A webhook, a poll and a client's GET may all bring the same comment. The first of them stages the event, in the
transaction that marks the comment as reported.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import NamedTuple

from chassis.bus.outbox import Staging, stage_all
from contracts import publishing as api
from contracts.events import CommentReceived
from publishing.platforms.base import RemoteComment
from publishing.platforms.registry import PLUGINS
from publishing.records import PageRow, Post
from publishing.store import Connection
from publishing.store.received import KnownComment, OurReplies, Received

#: Events staged at a time: other green threads run in between. Our choice.
_STAGED_AT_ONCE = 100


class StoredComments(NamedTuple):
    """The result of storing comments. `known`: platform's id → what is stored, also for each comment that a stored
    comment replies to."""

    known: dict[str, KnownComment]
    #: Platform's id → whether the page itself wrote the comment; None if the platform does not say who did.
    own: dict[str, bool | None]
    #: Whether one of the comments is new: before this call it had no event and was not known as the page's own.
    has_news: bool


def store_comments(
    connection: Connection, page: PageRow, post: Post, found: Sequence[RemoteComment], *, tells: bool = True
) -> StoredComments:
    """Stores comments under ids of ours, and stages comment.received once for each new one that the page did not write.

    If `tells` is False, only stores them: a later call with the same comments stages their events.
    """
    store = Received(connection)
    remote_ids = {comment.id for comment in found} | {c.parent_id for c in found if c.parent_id}
    known = store.known(post.id, remote_ids)
    if missing := remote_ids - known.keys():
        store.add(post.id, missing)
        known |= store.known(post.id, missing)
    own = {one.id: known[one.id].state == "own" or _is_authors(one, page) for one in found}
    new = {comment.id: comment for comment in found if not known[comment.id].is_final}
    if new:
        ours = store.our_replies(post.id, new)
        own |= {one.id: is_own(one, page, post.first_comment, ours) for one in new.values()}
    if new and tells:
        states = {one_id: "own" if own[one_id] else "told" for one_id in new}
        moved = store.end(post.id, states)
        told = [one for one in new.values() if one.id in moved and states[one.id] == "told"]
        if told:
            store.note_news(post.id)
        told.sort(key=lambda one: (one.created_at, one.id))
        _tell(connection, page, post, [view(post, one, known, own[one.id]) for one in told])
    elif tells and post.commented_at is None and any(row.state == "told" for row in known.values()):
        store.note_old_news(post.id)
    return StoredComments(known, own, bool(new))


def is_own(comment: RemoteComment, page: PageRow, first_comment: str | None, ours: OurReplies) -> bool | None:
    """Whether the page itself wrote the comment; None if that is not certain.

    True if the comment has the id of one of our replies, or if its author is the page; False if its author is somebody
    else. If the platform names no author, the result is False on platforms where names are unique. On the others it is
    True if the comment's text is that of `first_comment` or of one of our replies, else None.
    """
    if comment.id in ours.remote_ids:
        return True
    words = {message.strip() for message in (*ours.messages, first_comment or "")} - {""}
    is_authors = _is_authors(comment, page)
    return True if is_authors is None and comment.text.strip() in words else is_authors


def _is_authors(comment: RemoteComment, page: PageRow) -> bool | None:
    """Whether the comment's author is the page, by id or, on platforms where names are unique, by name. For a comment
    without an author the result is False on those platforms, and None on the others.
    """
    if comment.author_id == page.remote_account_id:
        return True
    if PLUGINS[page.platform].has_unique_names:
        return comment.author_name == page.username
    return False if comment.author_id else None


def view(
    post: Post,
    comment: RemoteComment,
    known: Mapping[str, KnownComment],
    own: bool | None,
    settled_at: datetime | None = None,
) -> api.Comment:
    created_at = comment.created_at.astimezone(UTC)
    return api.Comment(
        id=known[comment.id].id,
        text=_plain(comment.text),
        author=api.Author(id=comment.author_id, name=_plain(comment.author_name)),
        created_time=created_at.replace(microsecond=created_at.microsecond // 1000 * 1000),
        reply_count=comment.reply_count,
        post_id=post.id,
        platform=post.platform,
        parent_id=known[comment.parent_id].id if comment.parent_id else None,
        is_own=own,
        settled_at=settled_at,
        received_at=known[comment.id].received_at,
    )


def _plain(text: str) -> str:
    """Removes NUL characters, which PostgreSQL cannot store, neither here nor at those who receive the webhook."""
    return text.replace("\0", "")


def _tell(connection: Connection, page: PageRow, post: Post, told: Iterable[api.Comment]) -> None:
    rest = iter(told)
    while some := list(islice(rest, _STAGED_AT_ONCE)):
        stage_all(connection, [_event(page, post, comment) for comment in some])


def _event(page: PageRow, post: Post, comment: api.Comment) -> Staging:
    data = CommentReceived(
        user_id=page.account_id, brand_id=page.brand_id, page_id=page.id, post_id=post.id, comment=comment
    )
    return Staging("comment.received", data, page.account_id, page.brand_id)
