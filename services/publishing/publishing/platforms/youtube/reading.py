"""Reads from YouTube: comments, counts and the channel's profile (docs/platforms.md, section 7)."""

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import takewhile

from publishing.platforms.base import (
    Account,
    CommentPage,
    CommentQuery,
    Connector,
    Counts,
    OpenComment,
    PlatformRefusal,
    Profile,
    Refusal,
    RemoteComment,
)
from publishing.platforms.comment_threads import Place, ThreadList, Threads, comment_page
from publishing.platforms.http_client import Answer, iso_time
from publishing.platforms.post_matching import own_comment, window_start
from publishing.platforms.youtube.calls import DataApi, items_of
from publishing.platforms.youtube.settings import YouTubeSettings

#: YouTube's own largest page of comments.
_ROWS_PER_PAGE = 100
#: Texts are HTML otherwise.
_PLAIN = "plainText"
#: The name of authors whom YouTube does not name.
_UNNAMED = "YouTube user"


class YouTubeReading(Connector):
    """The half of YouTube's connector that works on published videos."""

    def __init__(self, settings: YouTubeSettings) -> None:
        self._settings = settings
        self._api = DataApi(settings)

    def comment(self, account: Account, remote_id: str, text: str) -> str:
        comment = {"snippet": {"textOriginal": text}}
        body = {"snippet": {"videoId": remote_id, "topLevelComment": comment}}
        thread = self._api.create(account, "commentThreads", body, part="snippet")
        made = (thread.get("snippet") or {}).get("topLevelComment") or thread
        return str(made.get("id") or thread["id"])

    def reply(self, account: Account, comment_id: str, text: str) -> str:
        body = {"snippet": {"parentId": self._top_level(account, comment_id), "textOriginal": text}}
        return str(self._api.create(account, "comments", body, part="snippet")["id"])

    def find_comment(self, comment: OpenComment) -> str | None:
        threads = self._api.rows(
            comment.account,
            "commentThreads",
            part="snippet",
            videoId=comment.parent_id,
            order="time",
            textFormat=_PLAIN,
            maxResults=_ROWS_PER_PAGE,
        )
        # Threads come newest first: one that is too old ends the search.
        start = window_start(comment.began_at)
        return own_comment(comment, takewhile(lambda one: one.created_at >= start, map(_first, threads)))

    def find_reply(self, reply: OpenComment) -> str | None:
        rows = self._replies(reply.account, self._top_level(reply.account, reply.parent_id))
        return own_comment(reply, map(_comment, rows))

    def _top_level(self, account: Account, comment_id: str) -> str:
        """Returns `comment_id` if the comment is top-level, else the id of the top-level comment above it: YouTube
        takes replies to top-level comments only."""
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

    def list_comments(self, account: Account, query: CommentQuery) -> CommentPage:
        def page(place: Place, part: str = "snippet,replies") -> tuple[list[Answer], str | None]:
            answer = self._api.read(
                account,
                "commentThreads",
                part=part,
                videoId=query.remote_id,
                order="time",
                textFormat=_PLAIN,
                maxResults=place.size,
                pageToken=place.token or None,
            )
            return items_of(answer), answer.get("nextPageToken")

        threads = ThreadList(
            largest=_ROWS_PER_PAGE,
            page=page,
            # Only YouTube knows what follows a shorter page.
            next_token=lambda place: page(place, "id")[1],
            replies=lambda thread, until: self._replies_in(account, thread, until),
            comments=_comments,
        )
        return comment_page(query, threads)

    def _replies_in(self, account: Account, thread: Answer, until: float) -> Iterable[Answer]:
        """Returns a thread's replies. The list of threads shows a few of them; the others are read by further calls."""
        shown: list[Answer] = (thread.get("replies") or {}).get("comments") or []
        first = _first(thread)
        return shown if first.reply_count <= len(shown) else self._replies(account, first.id, until)

    def engagement(self, account: Account, remote_id: str) -> Counts:
        found = items_of(self._api.read(account, "videos", part="snippet,statistics", id=remote_id))
        if not found:
            raise PlatformRefusal(Refusal.REJECTED, "videoNotFound", "The video is no longer there.")
        # Numbers are texts, and missing where the channel hides them.
        counts = found[0].get("statistics") or {}
        return Counts(
            likes=int(counts.get("likeCount") or 0),
            comments=int(counts.get("commentCount") or 0),
            shares=None,
            permalink=permalink(remote_id),
            published_at=iso_time((found[0].get("snippet") or {}).get("publishedAt")),
        )

    def channels(self, account: Account, part: str) -> list[Answer]:
        """Reads the channel that the token belongs to; the list is empty if the account has none."""
        return items_of(self._api.read(account, "channels", part=part, mine="true"))

    def profile(self, account: Account) -> Profile:
        found = self.channels(account, "snippet,statistics")
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


def permalink(video_id: str) -> str:
    return f"https://www.youtube.com/watch?v={video_id}"


def _comments(threads: Threads) -> Iterable[RemoteComment]:
    for thread, replies in threads:
        first = _first(thread)
        found = [first, *(_comment(reply, first.id) for reply in replies)]
        yield from (one for one in found if one.id)


def _first(thread: Answer) -> RemoteComment:
    snippet = thread.get("snippet") or {}
    return _comment(snippet.get("topLevelComment") or {}, None, int(snippet.get("totalReplyCount") or 0))


def _comment(row: Answer, parent_id: str | None = None, reply_count: int = 0) -> RemoteComment:
    snippet = row.get("snippet") or {}
    return RemoteComment(
        id=str(row.get("id") or ""),
        text=str(snippet.get("textOriginal") or snippet.get("textDisplay") or ""),
        author_id=str((snippet.get("authorChannelId") or {}).get("value") or ""),
        author_name=str(snippet.get("authorDisplayName") or _UNNAMED),
        created_at=iso_time(snippet.get("publishedAt")) or datetime.now(UTC),
        reply_count=reply_count,
        parent_id=parent_id,
    )
