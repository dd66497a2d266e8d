"""Instagram: comments, counts and the account itself (platforms.md 3). What makes a post is in `connector`."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from chassis.cursor import decode_cursor, encode_cursor
from contracts.errors import invalid
from publishing.platforms.base import (
    Account,
    CommentPage,
    Connector,
    Counts,
    PlatformRefusal,
    Profile,
    RemoteComment,
    RemoteReply,
)
from publishing.platforms.likeness import same_text, window_start
from publishing.platforms.lists import listing_ends, threads_read
from publishing.platforms.meta.graph import Answer, Graph, graph_time, is_within, next_cursor, rows_of
from publishing.platforms.meta.settings import MetaSettings

_REPLY = "id,text,timestamp,username,from"
_COMMENT = f"{_REPLY},replies{{{_REPLY}}}"
#: Instagram's own largest page of comments (platforms.md 3).
_COMMENTS_PER_PAGE = 50
_SIZES = frozenset(str(size) for size in range(1, _COMMENTS_PER_PAGE + 1))
#: Whom Instagram does not name to us.
_SOMEBODY = "Instagram user"


class InstagramReading(Connector):
    """The half of the connector that deals with posts which are out."""

    def __init__(self, settings: MetaSettings) -> None:
        self._settings = settings
        self._graph = Graph(settings.instagram_url, settings)

    def comment(self, account: Account, remote_id: str, text: str) -> RemoteReply:
        # Never with `fields`: that fails after the comment is there (platforms.md 3).
        answer = self._graph.create(account, remote_id, "comments", {"message": text})
        return RemoteReply(str(answer["id"]), remote_id)

    def reply(self, account: Account, comment_id: str, text: str) -> RemoteReply:
        answer = self._graph.create(account, comment_id, "replies", {"message": text})
        return RemoteReply(str(answer["id"]), comment_id)

    def find_comment(
        self,
        account: Account,
        remote_id: str,
        text: str,
        *,
        began_at: datetime,
        known_ids: Collection[str] = (),
    ) -> RemoteReply | None:
        rows = self._graph.rows(account, remote_id, "comments", fields=_REPLY)
        return self._own(account, remote_id, rows, text, began_at, known_ids)

    def find_reply(
        self,
        account: Account,
        comment_id: str,
        text: str,
        *,
        began_at: datetime,
        known_ids: Collection[str] = (),
    ) -> RemoteReply | None:
        # An answer to a reply lands under the comment that began the thread.
        first_id = str(
            self._graph.read(account, comment_id, fields="id,parent_id").get("parent_id") or comment_id
        )
        rows = self._graph.rows(account, first_id, "replies", fields=_REPLY)
        return self._own(account, comment_id, rows, text, began_at, known_ids)

    def _own(
        self,
        account: Account,
        parent_id: str,
        rows: Iterable[Answer],
        text: str,
        began_at: datetime,
        known_ids: Collection[str],
    ) -> RemoteReply | None:
        """The newest comment of our own that fits. `from` is there for our own ones at least."""
        start = window_start(began_at)
        for row in rows:
            author_id = (row.get("from") or {}).get("id", account.remote_account_id)
            if (
                author_id == account.remote_account_id
                and row["id"] not in known_ids
                and is_within(row, "timestamp", start)
                and same_text(text, row.get("text"))
            ):
                return RemoteReply(str(row["id"]), parent_id, graph_time(row.get("timestamp")))
        return None

    def list_comments(
        self,
        account: Account,
        remote_id: str,
        *,
        since: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> CommentPage:
        """Instagram counts first comments alone, and has no `since`: both are mended here.

        A page of Instagram's that holds more, replies included, is read again from where the last answer ended.
        """
        until = listing_ends()
        place = _Place.of(cursor) if cursor else _Place(size=min(limit, _COMMENTS_PER_PAGE))
        answer = self._page(account, remote_id, place, _COMMENT)
        rows = rows_of(answer)
        threads = threads_read(rows, lambda row: self._replies(account, row, until))
        if is_cut := len(threads) < len(rows):
            place = replace(place, size=len(threads))
        comments = [one for row, replies in threads if row.get("id") for one in _thread(row, replies)]
        comments.sort(key=_order, reverse=True)
        wanted = [
            one
            for one in comments
            if (since is None or one.created_at > since) and (not place.shown or _order(one) < place.shown)
        ]
        if len(wanted) > limit:
            rest = replace(place, shown=_order(wanted[limit - 1]))
            return CommentPage(tuple(wanted[:limit]), rest.cursor)
        if is_cut:  # what comes behind so many, Instagram alone knows
            answer = self._page(account, remote_id, place, "id")
        after = next_cursor(answer)
        following = _Place(after=after, size=min(limit, _COMMENTS_PER_PAGE)).cursor if after else None
        return CommentPage(tuple(wanted), following)

    def _page(self, account: Account, remote_id: str, place: "_Place", fields: str) -> Answer:
        return self._graph.read(
            account, remote_id, "comments", fields=fields, limit=place.size, after=place.after or None
        )

    def _replies(self, account: Account, row: Answer, until: float) -> Iterable[Answer]:
        """A comment's replies; where the list leaves some out, they are asked for."""
        replies = row.get("replies") or {}
        if row.get("id") and (replies.get("paging") or {}).get("next"):
            return self._graph.rows(account, str(row["id"]), "replies", until=until, fields=_REPLY)
        return rows_of(replies)

    def read_comment(self, account: Account, comment_id: str) -> RemoteComment:
        row = self._graph.read(account, comment_id, fields=f"{_REPLY},parent_id")
        return _comment(row, row.get("parent_id"), 0)

    def subscribe(self, account: Account) -> None:
        self._graph.ask(account, account.remote_account_id, "subscribed_apps", subscribed_fields="comments")

    def engagement(self, account: Account, remote_id: str) -> Counts:
        media = self._graph.read(account, remote_id, fields="like_count,comments_count,permalink,timestamp")
        return Counts(
            likes=int(media.get("like_count") or 0),
            comments=int(media.get("comments_count") or 0),
            shares=self._shares(account, remote_id),
            permalink=media.get("permalink"),
            published_at=graph_time(media.get("timestamp")),
        )

    def _shares(self, account: Account, remote_id: str) -> int | None:
        """Told by insights alone, which not every post and token has."""
        try:
            answer = self._graph.read(account, remote_id, "insights", metric="shares")
            return int(rows_of(answer)[0]["values"][0]["value"])
        except (PlatformRefusal, LookupError, TypeError, ValueError):
            return None

    def profile(self, account: Account) -> Profile:
        user = self._graph.read(
            account, account.remote_account_id, fields="username,name,profile_picture_url,followers_count"
        )
        return Profile(
            name=str(user.get("name") or user.get("username") or ""),
            username=user.get("username"),
            followers=int(user.get("followers_count") or 0),
            picture=user.get("profile_picture_url"),
        )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a list of comments goes on: a page of Instagram's, and what of it was shown already."""

    after: str = ""
    size: int = _COMMENTS_PER_PAGE
    #: `_order` of the last one shown; empty: none of this page was.
    shown: tuple[str, ...] = ()

    @property
    def cursor(self) -> str:
        return encode_cursor(self.after, str(self.size), *(self.shown or ("", "")))

    @classmethod
    def of(cls, cursor: str) -> "_Place":
        """Raises ApiError VALIDATION_ERROR for one we did not make."""
        after, size, *shown = decode_cursor(cursor, 4)
        if size not in _SIZES:
            raise invalid("cursor", "is not a cursor of this list")
        return cls(after, int(size), tuple(shown) if shown[0] else ())


def _order(comment: RemoteComment) -> tuple[str, str]:
    """What comments are sorted by, as text, so that a cursor can hold it."""
    return comment.created_at.astimezone(UTC).isoformat(timespec="milliseconds"), comment.id


def _thread(row: Answer, replies: Sequence[Answer]) -> list[RemoteComment]:
    first = _comment(row, None, len(replies))
    return [first, *(_comment(reply, first.id, 0) for reply in replies if reply.get("id"))]


def _comment(row: Answer, parent_id: str | None, reply_count: int) -> RemoteComment:
    author = row.get("from") or {}
    return RemoteComment(
        id=str(row["id"]),
        text=str(row.get("text") or ""),
        author_id=str(author.get("id") or ""),
        author_name=str(row.get("username") or author.get("username") or _SOMEBODY),
        created_at=graph_time(row.get("timestamp")) or datetime.now(UTC),
        reply_count=reply_count,
        parent_id=parent_id,
    )
