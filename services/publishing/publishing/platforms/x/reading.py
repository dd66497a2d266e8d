"""X: replies to posts, counts and the account itself. Comments are the replies of a conversation in its last 7 days."""

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from contracts.platforms import PLATFORMS
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
from publishing.platforms.likeness import window_start
from publishing.platforms.x.calls import Answer, Calls, post_time, rows_of, timestamp
from publishing.platforms.x.settings import XSettings
from publishing.platforms.x.text import is_same, shown_text, weighted_length

POST_FIELDS = "created_at,entities,attachments,referenced_tweets"
_COMMENT_FIELDS = f"{POST_FIELDS},author_id,public_metrics"
#: platforms.md 6: what the recent search reaches back to, less a minute for clocks that differ, and its page sizes.
_WINDOW = timedelta(days=7) - timedelta(minutes=1)
_ROWS = (10, 100)
#: Whom X does not name to us.
_SOMEBODY = "X user"


class XReading(Connector):
    """The half of the connector that deals with posts which are out."""

    def __init__(self, settings: XSettings) -> None:
        self._calls = Calls(settings)

    def comment(self, account: Account, remote_id: str, text: str) -> RemoteReply:
        return self.reply(account, remote_id, text)

    def reply(self, account: Account, comment_id: str, text: str) -> RemoteReply:
        limit, count = PLATFORMS["TW"].comment_limit, weighted_length(text)
        if count > limit:
            message = f"X takes at most {limit} weighted characters, these are {count}."
            raise PlatformRefusal(Refusal.REJECTED, "TOO_LONG", message)
        data = {"text": text, "reply": {"in_reply_to_tweet_id": comment_id}}
        return RemoteReply(self._calls.create(account, data), comment_id)

    def find_comment(
        self,
        account: Account,
        remote_id: str,
        text: str,
        *,
        began_at: datetime,
        known_ids: Collection[str] = (),
    ) -> RemoteReply | None:
        return self.find_reply(account, remote_id, text, began_at=began_at, known_ids=known_ids)

    def find_reply(
        self,
        account: Account,
        comment_id: str,
        text: str,
        *,
        began_at: datetime,
        known_ids: Collection[str] = (),
    ) -> RemoteReply | None:
        for post in self._calls.own_posts(account, window_start(began_at), POST_FIELDS):
            is_new = post.get("id") not in known_ids and _answered_id(post) == comment_id
            if is_new and is_same(text, post):
                return RemoteReply(str(post["id"]), comment_id, post_time(post.get("created_at")))
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
        earliest = datetime.now(UTC) - _WINDOW
        answer = self._calls.read(
            account,
            "tweets/search/recent",
            _COMMENT_FIELDS,
            query=f"conversation_id:{remote_id}",
            start_time=timestamp(since) if since is not None and since > earliest else None,
            until_id=cursor,
            max_results=min(max(limit, _ROWS[0]), _ROWS[1]),
            expansions="author_id",
            user__fields="name,username",
        )
        rows = rows_of(answer)
        authors = {user.get("id"): user for user in (answer.get("includes") or {}).get("users") or ()}
        comments = [
            _comment(row, remote_id, authors) for row in rows if row.get("id") not in (None, remote_id)
        ]
        fresh = [one for one in comments if since is None or one.created_at > since]
        shown = fresh[:limit]
        # X's pages are of 10 at least: the next one begins behind the last that is shown.
        goes_on = len(fresh) == len(comments) and bool((answer.get("meta") or {}).get("next_token"))
        is_more = len(fresh) > len(shown) or goes_on
        return CommentPage(tuple(shown), shown[-1].id if shown and is_more else None)

    def engagement(self, account: Account, remote_id: str) -> Counts:
        answer = self._calls.read(account, f"tweets/{quote(remote_id, safe='')}", "created_at,public_metrics")
        post = answer.get("data") or {}
        metrics = post.get("public_metrics") or {}
        return Counts(
            likes=int(metrics.get("like_count", 0)),
            comments=int(metrics.get("reply_count", 0)),
            shares=int(metrics.get("retweet_count", 0)) + int(metrics.get("quote_count", 0)),
            published_at=post_time(post.get("created_at")),
        )

    def profile(self, account: Account) -> Profile:
        answer = self._calls.read(
            account, "users/me", user__fields="name,username,profile_image_url,public_metrics"
        )
        user = answer.get("data") or {}
        picture = user.get("profile_image_url")
        return Profile(
            name=str(user.get("name") or ""),
            username=user.get("username"),
            followers=int((user.get("public_metrics") or {}).get("followers_count", 0)),
            # 48 x 48 otherwise.
            picture=re.sub(r"_normal(\.\w+)?\Z", r"_400x400\1", picture) if picture else None,
        )


def _answered_id(post: Answer) -> str | None:
    """What a post is a reply to."""
    rows = post.get("referenced_tweets") or ()
    return next((str(row.get("id")) for row in rows if row.get("type") == "replied_to"), None)


def _comment(row: Answer, remote_id: str, authors: Mapping[str, Answer]) -> RemoteComment:
    author_id, answered_id = str(row.get("author_id") or ""), _answered_id(row)
    author = authors.get(author_id) or {}
    return RemoteComment(
        id=str(row["id"]),
        text=shown_text(row),
        author_id=author_id,
        author_name=str(author.get("name") or author.get("username") or _SOMEBODY),
        created_at=post_time(row.get("created_at")) or datetime.now(UTC),
        reply_count=int((row.get("public_metrics") or {}).get("reply_count", 0)),
        parent_id=None if answered_id == remote_id else answered_id,
    )
