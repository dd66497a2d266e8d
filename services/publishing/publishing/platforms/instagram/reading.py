"""Instagram: comments, counts and the account itself (docs/platforms.md, section 3)."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

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
from publishing.platforms.meta.graph import Graph, next_cursor, rows_of
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.post_matching import own_comment

_REPLY = "id,text,timestamp,username,from"
_COMMENT = f"{_REPLY},replies{{{_REPLY}}}"
#: Instagram's own largest page of comments (platforms.md 3).
_COMMENTS_PER_PAGE = 50
#: The name of authors whom Instagram does not name.
_UNNAMED = "Instagram user"


class InstagramReading(Connector):
    """The half of Instagram's connector that works on published posts: comments, counts, the account's profile."""

    def __init__(self, settings: MetaSettings) -> None:
        self._settings = settings
        self._graph = Graph(settings.instagram_url, settings)

    def comment(self, account: Account, remote_id: str, text: str) -> str:
        # Never with `fields`: that fails after the comment was made (platforms.md 3).
        return str(self._graph.create(account, remote_id, "comments", {"message": text})["id"])

    def reply(self, account: Account, comment_id: str, text: str) -> str:
        return str(self._graph.create(account, comment_id, "replies", {"message": text})["id"])

    def find_comment(self, comment: OpenComment) -> str | None:
        return self._find_own(comment, comment.parent_id, "comments")

    def find_reply(self, reply: OpenComment) -> str | None:
        # An answer to a reply is placed under the first comment of the thread.
        row = self._graph.read(reply.account, reply.parent_id, fields="id,parent_id")
        return self._find_own(reply, str(row.get("parent_id") or reply.parent_id), "replies")

    def _find_own(self, sent: OpenComment, node: str, edge: str) -> str | None:
        rows = self._graph.rows(sent.account, node, edge, fields=_REPLY)
        own_id = sent.account.remote_account_id
        # A comment without an author may be ours.
        return own_comment(
            sent, (replace(one, author_id=one.author_id or own_id) for one in map(_comment, rows))
        )

    def list_comments(self, account: Account, query: CommentQuery) -> CommentPage:
        def page(place: Place, fields: str = _COMMENT) -> tuple[list[Answer], str | None]:
            after = place.token or None
            answer = self._graph.read(
                account, query.remote_id, "comments", fields=fields, limit=place.size, after=after
            )
            return rows_of(answer), next_cursor(answer)

        threads = ThreadList(
            largest=_COMMENTS_PER_PAGE,
            page=page,
            # Only Instagram knows what follows a shorter page.
            next_token=lambda place: page(place, "id")[1],
            replies=lambda row, until: self._replies(account, row, until),
            comments=_comments,
        )
        return comment_page(query, threads)

    def _replies(self, account: Account, row: Answer, until: float) -> Iterable[Answer]:
        """Returns the replies to the comment `row`, including those that the list of comments left out. Reading them
        raises OutOfTime after `until`, a time by `time.monotonic`."""
        replies = row.get("replies") or {}
        if row.get("id") and (replies.get("paging") or {}).get("next"):
            return self._graph.rows(account, str(row["id"]), "replies", until=until, fields=_REPLY)
        return rows_of(replies)

    def read_comment(self, account: Account, comment_id: str) -> RemoteComment:
        row = self._graph.read(account, comment_id, fields=f"{_REPLY},parent_id")
        return _comment(row, row.get("parent_id"))

    def subscribe(self, account: Account) -> None:
        """Subscribes to webhooks about the account's comments. Tries both ways that Instagram has; one success is
        enough.

        If the page was linked with Facebook's login, the token belongs to a Facebook page, and that page is subscribed.
        If it was linked with Instagram's login, the account is subscribed (docs/platforms/instagram.md).
        """
        refusals = []
        for node, fields in (("me", "feed"), (account.remote_account_id, "comments")):
            try:
                self._graph.ask(account, node, "subscribed_apps", subscribed_fields=fields)
            except PlatformRefusal as refusal:
                if refusal.retryable or refusal.kind is Refusal.EXPIRED:
                    raise
                refusals.append(refusal)
        if len(refusals) > 1:
            raise refusals[-1]

    def engagement(self, account: Account, remote_id: str) -> Counts:
        media = self._graph.read(account, remote_id, fields="like_count,comments_count,permalink,timestamp")
        return Counts(
            likes=int(media.get("like_count") or 0),
            comments=int(media.get("comments_count") or 0),
            shares=self._shares(account, remote_id),
            permalink=media.get("permalink"),
            published_at=iso_time(media.get("timestamp")),
        )

    def _shares(self, account: Account, remote_id: str) -> int | None:
        """Reads how often a post was shared; None if Instagram does not show that for the post or the token."""
        try:
            answer = self._graph.read(account, remote_id, "insights", metric="shares")
            return int(rows_of(answer)[0]["values"][0]["value"])
        except (PlatformRefusal, LookupError, TypeError, ValueError):
            return None

    def profile(self, account: Account) -> Profile:
        user = self._graph.read(
            account, account.remote_account_id, fields="username,name,profile_picture_url,followers_count"
        )
        return profile_of(user)


def profile_of(user: Answer) -> Profile:
    """Builds the profile from the fields of an Instagram account."""
    return Profile(
        name=str(user.get("name") or user.get("username") or ""),
        username=user.get("username"),
        followers=int(user.get("followers_count") or 0),
        picture=user.get("profile_picture_url"),
    )


def _comments(threads: Threads) -> Iterable[RemoteComment]:
    for row, replies in threads:
        if row.get("id"):
            yield replace(_comment(row), reply_count=len(replies))
            yield from (_comment(reply, str(row["id"])) for reply in replies if reply.get("id"))


def _comment(row: Answer, parent_id: str | None = None) -> RemoteComment:
    author = row.get("from") or {}
    return RemoteComment(
        id=str(row["id"]),
        text=str(row.get("text") or ""),
        author_id=str(author.get("id") or ""),
        author_name=str(row.get("username") or author.get("username") or _UNNAMED),
        created_at=iso_time(row.get("timestamp")) or datetime.now(UTC),
        parent_id=parent_id,
    )
