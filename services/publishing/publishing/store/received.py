"""SQL of comments on the platforms and of their event comment.received. Our replies and first comments are in
`comments.py`.

A stored comment is in the state `known` or `waiting` until a transaction moves it to `told` and stages its event, or
to `own` because the page itself wrote it. The row's lock lets exactly one transaction move it. Rows are written in the
order of remote ids, so that two transactions with the same comments never deadlock.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, text

from chassis.ids import new_id
from chassis.telemetry import tracing
from publishing.platforms.base import RemoteComment
from publishing.records import Post, Row

_KNOWN = text(
    "SELECT remote_id, id, state, created_at, settled_at FROM comments"
    " WHERE post_id = :post_id AND remote_id = ANY(:remote_ids)"
)
_ADD = text(
    """
    INSERT INTO comments (id, post_id, remote_id, created_at)
    SELECT id, :post_id, remote_id, clock_now() FROM unnest(:ids, CAST(:remote_ids AS text[])) AS n(id, remote_id)
    ORDER BY remote_id ON CONFLICT DO NOTHING
    """
)
_END = text(
    """
    WITH mine AS (
        SELECT c.id, e.state FROM comments c
        JOIN unnest(:remote_ids, CAST(:states AS text[])) AS e(remote_id, state) ON e.remote_id = c.remote_id
        WHERE c.post_id = :post_id AND c.state IN ('known', 'waiting') ORDER BY c.remote_id FOR UPDATE OF c)
    UPDATE comments c SET state = mine.state, said = NULL, wake_at = NULL
    FROM mine WHERE c.id = mine.id RETURNING c.remote_id
    """
)
_WAIT = text(
    """
    WITH mine AS (
        SELECT c.id, w.said FROM comments c
        JOIN unnest(:remote_ids, CAST(:said AS text[])) AS w(remote_id, said) ON w.remote_id = c.remote_id
        WHERE c.post_id = :post_id AND c.state = 'known' ORDER BY c.remote_id FOR UPDATE OF c)
    UPDATE comments c SET state = 'waiting', said = CAST(mine.said AS jsonb), wake_at = clock_timestamp(),
        traceparent = :traceparent
    FROM mine WHERE c.id = mine.id
    """
)
_CLAIM_WAITING = text(
    """
    UPDATE comments c SET looks = looks + 1, wake_at = clock_timestamp() + make_interval(secs => :lease)
    FROM posts p, pages g
    WHERE c.id IN (SELECT id FROM comments WHERE state = 'waiting' AND wake_at <= clock_timestamp()
        ORDER BY wake_at LIMIT :limit FOR UPDATE SKIP LOCKED)
        AND p.id = c.post_id AND g.id = p.page_id
    RETURNING c.id, c.post_id, c.remote_id, c.said, c.looks, c.traceparent,
        g.expired OR coalesce(g.rest_until > clock_timestamp(), false) AS is_closed
    """
)
_PUT_OFF = text(
    """
    UPDATE comments SET wake_at = clock_timestamp() + make_interval(secs => :wait)
    WHERE id = :id AND state = 'waiting'
    """
)
_REPLIES = text(
    """
    SELECT remote_id, message FROM replies WHERE post_id = :post_id
        AND (remote_id = ANY(:remote_ids) OR state IN ('sending', 'unknown'))
    """
)
_COMMENTED = text("UPDATE posts SET commented_at = clock_now() WHERE id = :post_id")
_COMMENTED_BEFORE = text(
    """
    UPDATE posts SET commented_at =
        (SELECT max(created_at) FROM comments WHERE post_id = :post_id AND state = 'told')
    WHERE id = :post_id AND commented_at IS NULL
    """
)
_POSTS = text(
    """
    SELECT p.* FROM unnest(:accounts, CAST(:remote_ids AS text[])) AS t(account_id, remote_id)
    JOIN pages g ON g.remote_account_id = t.account_id AND g.platform = :platform
        AND g.unlinked_at IS NULL
    JOIN posts p ON p.page_id = g.id AND p.remote_id = t.remote_id
    WHERE p.state = 'published' ORDER BY p.id
    """
)


class KnownComment(NamedTuple):
    id: str
    state: str
    received_at: datetime
    #: When the comment was marked as needing no reply.
    settled_at: datetime | None

    @property
    def is_final(self) -> bool:
        """Whether the comment's event was staged, or the comment needs no event because the page itself wrote it."""
        return self.state in ("told", "own")


class OurReplies(NamedTuple):
    """Our replies under a post: the remote ids of those whose id is known, and the texts of the others."""

    remote_ids: frozenset[str]
    messages: frozenset[str]


class WaitingComment(Row):
    """A comment whose webhook lacked details that its event needs."""

    id: str
    post_id: str
    remote_id: str
    said: dict[str, Any]
    #: The number of tries to read the comment, including this one.
    looks: int
    #: Whether the page has expired, or its platform takes no calls for it now.
    is_closed: bool
    traceparent: str | None = None

    @property
    def comment(self) -> RemoteComment:
        """The comment as the webhook described it."""
        return msgspec.convert(self.said, RemoteComment)


class Received:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def known(self, post_id: str, remote_ids: Collection[str]) -> dict[str, KnownComment]:
        """Returns what is known of each of these comments that is stored, by remote id."""
        if not remote_ids:
            return {}
        rows = self._connection.execute(_KNOWN, {"post_id": post_id, "remote_ids": list(remote_ids)})
        return {
            row.remote_id: KnownComment(row.id, row.state, row.created_at, row.settled_at) for row in rows
        }

    def add(self, post_id: str, remote_ids: Collection[str]) -> None:
        """Stores comments with new ids of ours, unless they are stored already."""
        if remote_ids:
            ordered = sorted(remote_ids)
            ids = [new_id("cmt") for _ in ordered]
            self._connection.execute(_ADD, {"post_id": post_id, "ids": ids, "remote_ids": ordered})

    def end(self, post_id: str, states: Mapping[str, str]) -> set[str]:
        """Moves comments to the state `told` or `own`, and returns the remote ids of the comments that were moved. The
        caller stages an event for each comment that is now `told`; one that is `own` was written by the page itself."""
        if not states:
            return set()
        values = {"post_id": post_id, "remote_ids": list(states), "states": list(states.values())}
        return set(self._connection.execute(_END, values).scalars())

    def note_news(self, post_id: str) -> None:
        """Stores that a comment of a visitor was received just now, which moves the post up in the list by activity."""
        self._connection.execute(_COMMENTED, {"post_id": post_id})

    def note_old_news(self, post_id: str) -> None:
        """Stores when the newest comment of a visitor was received, unless the post has that time already: an old
        release did not store it.
        """
        self._connection.execute(_COMMENTED_BEFORE, {"post_id": post_id})

    def wait(self, post_id: str, found: Iterable[RemoteComment]) -> None:
        """Stores comments as a webhook described them, to be reported once their details are known. Comments that were
        reported already stay as they are."""
        said = {comment.id: msgspec.json.encode(comment).decode() for comment in found}
        if said:
            self.add(post_id, said)
            values = {"post_id": post_id, "remote_ids": list(said), "said": list(said.values())}
            cause = tracing.traceparent() or None
            self._connection.execute(_WAIT, {**values, "traceparent": cause})

    def claim_waiting(self, limit: int, lease_seconds: float) -> list[WaitingComment]:
        rows = self._connection.execute(_CLAIM_WAITING, {"limit": limit, "lease": lease_seconds}).mappings()
        return [WaitingComment.of(row) for row in rows]

    def put_off(self, comment_id: str, wait_seconds: float) -> None:
        self._connection.execute(_PUT_OFF, {"id": comment_id, "wait": wait_seconds})

    def our_replies(self, post_id: str, remote_ids: Collection[str]) -> OurReplies:
        """Returns our replies under a post: those with one of these remote ids, and those whose remote id is not known
        yet."""
        rows = self._connection.execute(_REPLIES, {"post_id": post_id, "remote_ids": list(remote_ids)}).all()
        return OurReplies(
            frozenset(row.remote_id for row in rows if row.remote_id is not None),
            frozenset(row.message for row in rows if row.remote_id is None),
        )

    def posts_of(self, platform: str, places: Iterable[tuple[str, str]]) -> list[Post]:
        """Returns our published posts, found by pairs of the platform's id of an account and the remote id of a post.
        If several linked pages are that account, the posts of all of them are returned.
        """
        asked = sorted(set(places))
        if not asked:
            return []
        values = {
            "platform": platform,
            "accounts": [account for account, _ in asked],
            "remote_ids": [remote_id for _, remote_id in asked],
        }
        return [Post.of(row) for row in self._connection.execute(_POSTS, values).mappings()]
