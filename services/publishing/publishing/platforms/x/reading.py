"""Reads from X: replies, counts and the account's profile. Comments are the conversation's replies of the last 7
days."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from contracts.platforms import PLATFORMS
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
from publishing.platforms.http_client import Answer, iso_time, objects, transient
from publishing.platforms.post_matching import window_start
from publishing.platforms.x.calls import Calls, timestamp
from publishing.platforms.x.settings import PREMIUM_LIMIT, XSettings
from publishing.platforms.x.text import is_same, shown_text, weighted_length

POST_FIELDS = "created_at,entities,attachments,referenced_tweets,note_tweet"
_COMMENT_FIELDS = f"{POST_FIELDS},author_id,public_metrics"
#: How far back the recent search goes (platforms.md 6), less a minute for differing clocks; and its page sizes.
_WINDOW = timedelta(days=7) - timedelta(minutes=1)
_ROWS = (10, 100)
#: Values of `subscription_type` of accounts whose posts may be long: X tells an account its own (data dictionary).
_PREMIUM = ("Basic", "Premium", "PremiumPlus")
#: The name of authors whom X does not name.
_UNNAMED = "X user"


class XReading(Connector):
    """The half of X's connector that works on published posts."""

    def __init__(self, settings: XSettings) -> None:
        self._calls = Calls(settings)

    def comment(self, account: Account, remote_id: str, text: str) -> str:
        return self.reply(account, remote_id, text)

    def reply(self, account: Account, comment_id: str, text: str) -> str:
        limit, count = PLATFORMS["TW"].comment_limit, weighted_length(text)
        if count > limit:
            message = f"X takes at most {limit} weighted characters, these are {count}."
            raise PlatformRefusal(Refusal.REJECTED, "TOO_LONG", message)
        return self._calls.create(account, {"text": text, "reply": {"in_reply_to_tweet_id": comment_id}})

    def find_comment(self, comment: OpenComment) -> str | None:
        return self.find_reply(comment)

    def find_reply(self, reply: OpenComment) -> str | None:
        for post in self._calls.own_posts(reply.account, window_start(reply.began_at), POST_FIELDS):
            if post.get("id") in reply.known_ids or not is_same(reply.text, post):
                continue
            if _answered_id(post) == reply.parent_id:
                return str(post["id"])
            if not references(post) and not self._calls.shows_references:
                raise transient("NO_REFERENCES", "X does not say whether a post is this reply.")
        return None

    def list_comments(self, account: Account, query: CommentQuery) -> CommentPage:
        since = query.since
        answer = self._calls.read(
            account,
            "tweets/search/recent",
            _COMMENT_FIELDS,
            query=f"conversation_id:{query.remote_id}",
            start_time=timestamp(since) if since and since > datetime.now(UTC) - _WINDOW else None,
            until_id=query.cursor,
            max_results=min(max(query.limit, _ROWS[0]), _ROWS[1]),
            expansions="author_id",
            user__fields="name,username",
        )
        authors = {user.get("id"): user for user in (answer.get("includes") or {}).get("users") or ()}
        comments = [
            _comment(row, query.remote_id, authors)
            for row in objects(answer.get("data"))
            if row.get("id") not in (None, query.remote_id)
        ]
        fresh = [one for one in comments if since is None or one.created_at > since]
        shown = fresh[: query.limit]
        # X's pages have 10 rows at least: the next one begins after the last that is shown.
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
            shares=int(metrics.get("repost_count", metrics.get("retweet_count", 0)))
            + int(metrics.get("quote_count", 0)),
            published_at=iso_time(post.get("created_at")),
        )

    def profile(self, account: Account) -> Profile:
        user = self.user(account)
        picture = user.get("profile_image_url")
        return Profile(
            name=str(user.get("name") or ""),
            username=user.get("username"),
            followers=int((user.get("public_metrics") or {}).get("followers_count", 0)),
            # The default is 48 x 48.
            picture=re.sub(r"_normal(\.\w+)?\Z", r"_400x400\1", picture) if picture else None,
            message_limit=_message_limit(user.get("subscription_type")),
        )

    def user(self, account: Account) -> Answer:
        """Reads the profile fields of the account."""
        fields = "name,username,profile_image_url,public_metrics,subscription_type"
        user: Answer = self._calls.read(account, "users/me", user__fields=fields).get("data") or {}
        return user


def _message_limit(subscription: str | None) -> int | None:
    """Returns the length of the longest post that an account with this `subscription_type` may make; None if X does not
    tell the type."""
    if subscription is None:
        return None
    return PREMIUM_LIMIT if subscription in _PREMIUM else PLATFORMS["TW"].message_limit


def references(post: Answer) -> Sequence[Answer]:
    """Returns the references of a post to other posts: to those that it replies to, quotes or reposts. Each has its
    type."""
    return post.get("referenced_tweets") or post.get("referenced_posts") or ()


def _answered_id(post: Answer) -> str | None:
    """Returns the id of the post that this one replies to; None if it is not a reply."""
    return next((str(row.get("id")) for row in references(post) if row.get("type") == "replied_to"), None)


def _comment(row: Answer, remote_id: str, authors: Mapping[str, Answer]) -> RemoteComment:
    author_id, answered_id = str(row.get("author_id") or ""), _answered_id(row)
    author = authors.get(author_id) or {}
    return RemoteComment(
        id=str(row["id"]),
        text=shown_text(row),
        author_id=author_id,
        author_name=str(author.get("name") or author.get("username") or _UNNAMED),
        created_at=iso_time(row.get("created_at")) or datetime.now(UTC),
        reply_count=int((row.get("public_metrics") or {}).get("reply_count", 0)),
        parent_id=None if answered_id == remote_id else answered_id,
    )
