"""Facebook Pages: comments, counts and the page itself (docs/platforms.md, section 2)."""

from dataclasses import replace
from datetime import UTC, datetime

from publishing.platforms.base import (
    Account,
    CommentPage,
    CommentQuery,
    Connector,
    Counts,
    OpenComment,
    Profile,
    RemoteComment,
)
from publishing.platforms.http_client import Answer, iso_time
from publishing.platforms.meta.graph import Graph, next_cursor, rows_of
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.post_matching import own_comment, window_start

_COMMENT = "id,message,from{id,name},created_time,comment_count,parent{id}"
#: The name of authors whom Facebook does not name.
_UNNAMED = "Facebook user"


class FacebookReading(Connector):
    """The half of Facebook's connector that works on published posts: comments, counts, the page's profile."""

    def __init__(self, settings: MetaSettings) -> None:
        self._settings = settings
        self._graph = Graph(settings.facebook_url, settings)
        self._uploads = Graph(settings.upload_url, settings)

    def comment(self, account: Account, remote_id: str, text: str) -> str:
        return str(self._graph.create(account, remote_id, "comments", {"message": text})["id"])

    def reply(self, account: Account, comment_id: str, text: str) -> str:
        return self.comment(account, comment_id, text)

    def find_comment(self, comment: OpenComment) -> str | None:
        rows = self._graph.rows(
            comment.account,
            comment.parent_id,
            "comments",
            filter="toplevel",
            order="reverse_chronological",
            since=int(window_start(comment.began_at).timestamp()),
            fields="id,message,from{id},created_time",
        )
        return own_comment(comment, map(_comment, rows))

    def find_reply(self, reply: OpenComment) -> str | None:
        # An answer to a reply is placed under the first comment of the thread.
        parent = self._graph.read(reply.account, reply.parent_id, fields="parent{id}").get("parent") or {}
        return self.find_comment(replace(reply, parent_id=str(parent.get("id") or reply.parent_id)))

    def list_comments(self, account: Account, query: CommentQuery) -> CommentPage:
        since = query.since
        answer = self._graph.read(
            account,
            query.remote_id,
            "comments",
            filter="stream",
            order="reverse_chronological",
            since=None if since is None else int(since.timestamp()),
            limit=query.limit,
            after=query.cursor,
            fields=_COMMENT,
        )
        comments = [_comment(row) for row in rows_of(answer) if row.get("id")]
        return CommentPage(
            tuple(one for one in comments if since is None or one.created_at > since), next_cursor(answer)
        )

    def read_comment(self, account: Account, comment_id: str) -> RemoteComment:
        return _comment(self._graph.read(account, comment_id, fields=_COMMENT))

    def subscribe(self, account: Account) -> None:
        # Replaces the fields subscribed before, so it names all that we need.
        self._graph.ask(account, account.remote_account_id, "subscribed_apps", subscribed_fields="feed")

    def engagement(self, account: Account, remote_id: str) -> Counts:
        post = self._graph.read(
            account,
            remote_id,
            fields="reactions.limit(0).summary(total_count),comments.limit(0).summary(true),"
            "shares,permalink_url,created_time",
        )
        return Counts(
            likes=_total(post, "reactions"),
            comments=_total(post, "comments"),
            # Missing if zero.
            shares=int((post.get("shares") or {}).get("count", 0)),
            permalink=post.get("permalink_url"),
            published_at=iso_time(post.get("created_time")),
        )

    def profile(self, account: Account) -> Profile:
        page = self._graph.read(
            account,
            account.remote_account_id,
            fields="name,username,followers_count,fan_count,picture.type(large)",
        )
        return Profile(
            name=str(page.get("name") or ""),
            username=page.get("username"),
            followers=int(page.get("followers_count") or page.get("fan_count") or 0),
            picture=((page.get("picture") or {}).get("data") or {}).get("url"),
        )


def _total(post: Answer, edge: str) -> int:
    return int(((post.get(edge) or {}).get("summary") or {}).get("total_count", 0))


def _comment(row: Answer) -> RemoteComment:
    author = row.get("from") or {}
    return RemoteComment(
        id=str(row["id"]),
        text=str(row.get("message") or ""),
        author_id=str(author.get("id") or ""),
        author_name=str(author.get("name") or _UNNAMED),
        created_at=iso_time(row.get("created_time")) or datetime.now(UTC),
        reply_count=int(row.get("comment_count") or 0),
        parent_id=(row.get("parent") or {}).get("id"),
    )
