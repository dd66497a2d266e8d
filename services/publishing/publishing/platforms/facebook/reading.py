"""Facebook Pages: comments, counts and the page itself (platforms.md 2). What makes a post is in `connector`."""

from collections.abc import Collection
from datetime import UTC, datetime

from publishing.platforms.base import (
    Account,
    CommentPage,
    Connector,
    Counts,
    Profile,
    RemoteComment,
    RemoteReply,
)
from publishing.platforms.likeness import same_text, window_start
from publishing.platforms.meta.graph import Answer, Graph, graph_time, is_within, next_cursor, rows_of
from publishing.platforms.meta.settings import MetaSettings

_COMMENT = "id,message,from{id,name},created_time,comment_count,parent{id}"
#: Whom Facebook does not name to us.
_SOMEBODY = "Facebook user"


class FacebookReading(Connector):
    """The half of the connector that deals with posts which are out."""

    def __init__(self, settings: MetaSettings) -> None:
        self._settings = settings
        self._graph = Graph(settings.facebook_url, settings)

    def comment(self, account: Account, remote_id: str, text: str) -> RemoteReply:
        answer = self._graph.create(account, remote_id, "comments", {"message": text})
        return RemoteReply(str(answer["id"]), remote_id)

    def reply(self, account: Account, comment_id: str, text: str) -> RemoteReply:
        answer = self._graph.create(account, comment_id, "comments", {"message": text})
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
        start = window_start(began_at)
        rows = self._graph.rows(
            account,
            remote_id,
            "comments",
            filter="toplevel",
            order="reverse_chronological",
            since=int(start.timestamp()),
            fields="id,message,from{id},created_time",
        )
        for row in rows:
            ours = (row.get("from") or {}).get("id") == account.remote_account_id and row[
                "id"
            ] not in known_ids
            if ours and is_within(row, "created_time", start) and same_text(text, row.get("message")):
                return RemoteReply(str(row["id"]), remote_id, graph_time(row.get("created_time")))
        return None

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
        parent = self._graph.read(account, comment_id, fields="parent{id}").get("parent") or {}
        first_id = str(parent.get("id") or comment_id)
        found = self.find_comment(account, first_id, text, began_at=began_at, known_ids=known_ids)
        return RemoteReply(found.id, comment_id, found.created_at) if found else None

    def list_comments(
        self,
        account: Account,
        remote_id: str,
        *,
        since: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> CommentPage:
        answer = self._graph.read(
            account,
            remote_id,
            "comments",
            filter="stream",
            order="reverse_chronological",
            since=None if since is None else int(since.timestamp()),
            limit=limit,
            after=cursor,
            fields=_COMMENT,
        )
        comments = [_comment(row) for row in rows_of(answer) if row.get("id")]
        return CommentPage(
            tuple(one for one in comments if since is None or one.created_at > since), next_cursor(answer)
        )

    def read_comment(self, account: Account, comment_id: str) -> RemoteComment:
        return _comment(self._graph.read(account, comment_id, fields=_COMMENT))

    def subscribe(self, account: Account) -> None:
        # Replaces what was asked for before: everything we want is asked for at once.
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
            # Left out at zero.
            shares=int((post.get("shares") or {}).get("count", 0)),
            permalink=post.get("permalink_url"),
            published_at=graph_time(post.get("created_time")),
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
        author_name=str(author.get("name") or _SOMEBODY),
        created_at=graph_time(row.get("created_time")) or datetime.now(UTC),
        reply_count=int(row.get("comment_count") or 0),
        parent_id=(row.get("parent") or {}).get("id"),
    )
