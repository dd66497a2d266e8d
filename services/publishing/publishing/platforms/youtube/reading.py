"""YouTube: comments, counts and the channel itself (platforms.md 7). What makes a video is in `connector`."""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime

from chassis.cursor import decode_cursor, encode_cursor
from contracts.errors import ApiError
from publishing.platforms.base import (
    Account,
    CommentPage,
    Connector,
    Counts,
    PlatformRefusal,
    Profile,
    Refusal,
    RemoteComment,
    RemoteReply,
)
from publishing.platforms.likeness import same_text, window_start
from publishing.platforms.lists import listing_ends, threads_read
from publishing.platforms.youtube.calls import Answer, DataApi, items_of, rfc3339
from publishing.platforms.youtube.settings import YouTubeSettings

#: YouTube's own largest page of comments.
_ROWS_PER_PAGE = 100
_SIZES = frozenset(str(size) for size in range(1, _ROWS_PER_PAGE + 1))
#: Texts come as HTML otherwise.
_PLAIN = "plainText"
#: Whom YouTube does not name to us.
_SOMEBODY = "YouTube user"


class YouTubeReading(Connector):
    """The half of the connector that deals with videos which are out."""

    def __init__(self, settings: YouTubeSettings) -> None:
        self._settings = settings
        self._api = DataApi(settings)

    def comment(self, account: Account, remote_id: str, text: str) -> RemoteReply:
        comment = {"snippet": {"textOriginal": text}}
        body = {"snippet": {"videoId": remote_id, "topLevelComment": comment}}
        thread = self._api.create(account, "commentThreads", body, part="snippet")
        made = (thread.get("snippet") or {}).get("topLevelComment") or thread
        return RemoteReply(str(made.get("id") or thread["id"]), remote_id, _made_at(made))

    def reply(self, account: Account, comment_id: str, text: str) -> RemoteReply:
        body = {"snippet": {"parentId": self._top_level(account, comment_id), "textOriginal": text}}
        made = self._api.create(account, "comments", body, part="snippet")
        return RemoteReply(str(made["id"]), comment_id, _made_at(made))

    def find_comment(
        self,
        account: Account,
        remote_id: str,
        text: str,
        *,
        began_at: datetime,
        known_ids: Collection[str] = (),
    ) -> RemoteReply | None:
        threads = self._api.rows(
            account,
            "commentThreads",
            part="snippet",
            videoId=remote_id,
            order="time",
            textFormat=_PLAIN,
            maxResults=_ROWS_PER_PAGE,
        )
        rows = ((thread.get("snippet") or {}).get("topLevelComment") or {} for thread in threads)
        return _own(account, remote_id, rows, text, began_at, known_ids)

    def find_reply(
        self,
        account: Account,
        comment_id: str,
        text: str,
        *,
        began_at: datetime,
        known_ids: Collection[str] = (),
    ) -> RemoteReply | None:
        rows = self._replies(account, self._top_level(account, comment_id))
        return _own(account, comment_id, rows, text, began_at, known_ids, in_order=False)

    def _top_level(self, account: Account, comment_id: str) -> str:
        """The comment that began the thread: YouTube takes answers to no other."""
        found = items_of(
            self._api.read(account, "comments", part="snippet", id=comment_id, textFormat=_PLAIN)
        )
        if not found:
            raise PlatformRefusal(Refusal.REJECTED, "commentNotFound", "The comment is no longer there.")
        return str((found[0].get("snippet") or {}).get("parentId") or comment_id)

    def _replies(self, account: Account, comment_id: str, until: float | None = None) -> Iterable[Answer]:
        return self._api.rows(
            account,
            "comments",
            until=until,
            part="snippet",
            parentId=comment_id,
            textFormat=_PLAIN,
            maxResults=_ROWS_PER_PAGE,
        )

    def list_comments(
        self,
        account: Account,
        remote_id: str,
        *,
        since: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> CommentPage:
        """YouTube counts threads alone, and has no `since`: both are mended here.

        A page of YouTube's that holds more, replies included, is read again from where the last answer ended.
        """
        until, usual = listing_ends(), str(min(limit, _ROWS_PER_PAGE))
        token, size, shown = _place(cursor) if cursor else ("", usual, ())
        answer = self._page(account, remote_id, token, size, "snippet,replies")
        rows = items_of(answer)
        threads = threads_read(rows, lambda thread: self._replies_in(account, thread, until))
        if is_cut := len(threads) < len(rows):
            size = str(len(threads))
        comments = [one for thread, replies in threads for one in _thread(thread, replies) if one.id]
        comments.sort(key=_order, reverse=True)
        wanted = [
            one
            for one in comments
            if (since is None or one.created_at > since) and (not shown or _order(one) < shown)
        ]
        if len(wanted) > limit:
            rest = encode_cursor(token, size, *_order(wanted[limit - 1]))
            return CommentPage(tuple(wanted[:limit]), rest)
        if is_cut:  # what comes behind so many, YouTube alone knows
            answer = self._page(account, remote_id, token, size, "id")
        following = answer.get("nextPageToken")
        return CommentPage(tuple(wanted), encode_cursor(following, usual, "", "") if following else None)

    def _page(self, account: Account, remote_id: str, token: str, size: str, part: str) -> Answer:
        return self._api.read(
            account,
            "commentThreads",
            part=part,
            videoId=remote_id,
            order="time",
            textFormat=_PLAIN,
            maxResults=size,
            pageToken=token or None,
        )

    def _replies_in(self, account: Account, thread: Answer, until: float) -> Iterable[Answer]:
        """A thread's replies; YouTube shows a few of them, the others are asked for."""
        shown: list[Answer] = (thread.get("replies") or {}).get("comments") or []
        first = _first(thread)
        return shown if first.reply_count <= len(shown) else self._replies(account, first.id, until)

    def engagement(self, account: Account, remote_id: str) -> Counts:
        found = items_of(self._api.read(account, "videos", part="snippet,statistics", id=remote_id))
        if not found:
            raise PlatformRefusal(Refusal.REJECTED, "videoNotFound", "The video is no longer there.")
        # Numbers come as text, and are left out where the channel hides them.
        counts = found[0].get("statistics") or {}
        return Counts(
            likes=int(counts.get("likeCount") or 0),
            comments=int(counts.get("commentCount") or 0),
            shares=None,
            permalink=f"https://www.youtube.com/watch?v={remote_id}",
            published_at=rfc3339((found[0].get("snippet") or {}).get("publishedAt")),
        )

    def profile(self, account: Account) -> Profile:
        found = items_of(self._api.read(account, "channels", part="snippet,statistics", mine="true"))
        if not found:
            raise PlatformRefusal(Refusal.PERMISSION, "NO_CHANNEL", "The account has no YouTube channel.")
        snippet = found[0].get("snippet") or {}
        handle = str(snippet.get("customUrl") or "").removeprefix("@")
        return Profile(
            name=str(snippet.get("title") or ""),
            username=handle or None,
            followers=int((found[0].get("statistics") or {}).get("subscriberCount") or 0),
            picture=((snippet.get("thumbnails") or {}).get("default") or {}).get("url"),
        )


def _own(
    account: Account,
    parent_id: str,
    rows: Iterable[Answer],
    text: str,
    began_at: datetime,
    known_ids: Collection[str],
    *,
    in_order: bool = True,
) -> RemoteReply | None:
    """A comment of our own that fits. `in_order`: the newest come first, so that older ones end the search."""
    start = window_start(began_at)
    for row in rows:
        made_at, snippet = _made_at(row), row.get("snippet") or {}
        if made_at is not None and made_at < start:
            if in_order:
                break
            continue
        said = snippet.get("textOriginal") or snippet.get("textDisplay")
        is_ours = (snippet.get("authorChannelId") or {}).get("value") == account.remote_account_id
        if is_ours and row.get("id") not in known_ids and same_text(text, said):
            return RemoteReply(str(row["id"]), parent_id, made_at)
    return None


def _first(thread: Answer) -> RemoteComment:
    snippet = thread.get("snippet") or {}
    return _comment(snippet.get("topLevelComment") or {}, None, int(snippet.get("totalReplyCount") or 0))


def _thread(thread: Answer, replies: Iterable[Answer]) -> list[RemoteComment]:
    first = _first(thread)
    return [first, *(_comment(reply, first.id, 0) for reply in replies)]


def _comment(row: Answer, parent_id: str | None, reply_count: int) -> RemoteComment:
    snippet = row.get("snippet") or {}
    return RemoteComment(
        id=str(row.get("id") or ""),
        text=str(snippet.get("textOriginal") or snippet.get("textDisplay") or ""),
        author_id=str((snippet.get("authorChannelId") or {}).get("value") or ""),
        author_name=str(snippet.get("authorDisplayName") or _SOMEBODY),
        created_at=_made_at(row) or datetime.now(UTC),
        reply_count=reply_count,
        parent_id=parent_id,
    )


def _made_at(row: Answer) -> datetime | None:
    return rfc3339((row.get("snippet") or {}).get("publishedAt"))


def _order(comment: RemoteComment) -> tuple[str, str]:
    """What comments are sorted by, as text, so that a cursor can hold it."""
    return comment.created_at.astimezone(UTC).isoformat(timespec="milliseconds"), comment.id


def _place(cursor: str) -> tuple[str, str, tuple[str, ...]]:
    """Where a list goes on: a page of YouTube's, how many threads it has, and what of it was shown last. Raises
    PlatformRefusal for what is no cursor of ours."""
    try:
        token, size, *shown = decode_cursor(cursor, 4)
    except ApiError:
        size = ""
    if size not in _SIZES:
        raise PlatformRefusal(Refusal.REJECTED, "INVALID_CURSOR", "This is no place in the list.")
    return token, size, tuple(shown) if shown[0] else ()
