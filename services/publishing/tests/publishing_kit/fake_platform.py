"""A fake platform that does what the test says, and the comments of its visitors."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from contracts.platforms import PLATFORMS
from publishing.platforms.base import (
    CommentPage,
    CommentQuery,
    Connector,
    Counts,
    NotPublished,
    OpenAttempt,
    OpenComment,
    Profile,
    Published,
    RemoteComment,
    guessed,
)

#: When the first visitor wrote.
VISITED_AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


@dataclass
class FakePlatform(Connector):
    """A platform that keeps the published posts in order. `script` holds exceptions that the next calls of `publish`
    raise. If an exception was given to `keep`, the call publishes the post before it raises the exception.
    """

    posts: list[tuple[str, str]] = field(default_factory=list)
    contents: list[Any] = field(default_factory=list)
    script: list[Exception] = field(default_factory=list)
    comments: list[tuple[str, str]] = field(default_factory=list)
    comment_script: list[Exception] = field(default_factory=list)
    looks: int = 0
    #: Whether a look-up takes an empty checkpoint as proof that nothing was sent, as most platforms' connectors do.
    trusts_checkpoint: bool = False
    before: Callable[[str], None] = lambda message: None
    lock: Any = field(default_factory=threading.Lock)

    def publish(self, account: Any, content: Any, checkpoint: Any) -> Published:
        self.before(content.message)
        if self.trusts_checkpoint:
            checkpoint.save(is_sent=True)
        with self.lock:
            self.contents.append(content)
            problem = self.script.pop(0) if self.script else None
            if problem is not None and not getattr(problem, "kept", False):
                raise problem
            remote_id = f"{account.remote_account_id}_{len(self.posts)}"
            self.posts.append((remote_id, content.message))
        if problem is not None:
            raise problem
        return Published(remote_id, f"https://platform/{remote_id}")

    def look_up(self, attempt: OpenAttempt) -> Any:
        self.looks += 1
        if self.trusts_checkpoint and not attempt.checkpoint.get("is_sent"):
            return NotPublished(settled=True)
        return self.search(attempt)

    def search(self, attempt: OpenAttempt) -> Any:
        alike = [
            remote_id
            for remote_id, message in self.posts
            if message == attempt.content.message and remote_id not in attempt.known_remote_ids
        ]
        if not alike:
            return NotPublished(settled=False)
        return guessed(Published(remote_id, f"https://platform/{remote_id}") for remote_id in alike)

    def comment(self, account: Any, remote_id: str, text: str) -> str:
        return self.reply(account, remote_id, text)

    def reply(self, account: Any, comment_id: str, text: str) -> str:
        problem = self.comment_script.pop(0) if self.comment_script else None
        if problem is not None and not getattr(problem, "kept", False):
            raise problem
        self.comments.append((comment_id, text))
        if problem is not None:
            raise problem
        return f"c{len(self.comments)}"

    def find_reply(self, reply: OpenComment) -> str | None:
        for number, comment in enumerate(self.comments, 1):
            if comment == (reply.parent_id, reply.text) and f"c{number}" not in reply.known_ids:
                return f"c{number}"
        return None

    def find_comment(self, comment: OpenComment) -> str | None:
        return self.find_reply(comment)

    def list_comments(self, account: Any, query: CommentQuery) -> CommentPage:
        return CommentPage(())

    def engagement(self, account: Any, remote_id: str) -> Counts:
        return Counts(3, 2, 1)

    def profile(self, account: Any) -> Profile:
        return Profile("x", None, 0, None)

    def keep(self, problem: Exception) -> Exception:
        """Marks an exception for `script`: the call that raises it first does what it was asked to do. Returns the
        exception.
        """
        problem.kept = True  # type: ignore[attr-defined]
        return problem

    @property
    def messages(self) -> list[str]:
        return [message for _, message in self.posts]


@dataclass
class Wall:
    """The comments that visitors wrote under a post, as the platform lists them."""

    made: list[RemoteComment] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    #: Exceptions that the next calls raise.
    script: list[Exception] = field(default_factory=list)
    most: int = 100

    def write(self, text: str = "hi", author_id: str = "u1", parent_id: str | None = None) -> RemoteComment:
        number = len(self.made)
        comment = RemoteComment(
            f"c{number:05d}",
            text,
            author_id,
            "Ann",
            VISITED_AT + timedelta(seconds=number),
            parent_id=parent_id,
        )
        self.made.append(comment)
        return comment

    def list_comments(self, account: Any, query: CommentQuery) -> CommentPage:
        self.asked.append({"since": query.since, "cursor": query.cursor})
        if self.script:
            raise self.script.pop(0)
        rows = [one for one in reversed(self.made) if query.since is None or one.created_at > query.since]
        rows = [one for one in rows if query.cursor is None or one.id < query.cursor]
        shown = rows[: min(query.limit, self.most)]
        return CommentPage(tuple(shown), shown[-1].id if len(shown) < len(rows) else None)

    def read_comment(self, account: Any, comment_id: str) -> RemoteComment:
        self.read.append(comment_id)
        if self.script:
            raise self.script.pop(0)
        return next(one for one in self.made if one.id == comment_id)


def one_connector(platform: FakePlatform) -> dict[str, Any]:
    """Returns platform code → this platform, for every code but TW, which has no connector."""
    return {code: platform for code in PLATFORMS if code != "TW"}
