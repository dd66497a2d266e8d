"""Groups the comments of a post into conversations: what a visitor wrote, and the replies to it. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from posthaste.records import Comment


@dataclass(frozen=True)
class Thread:
    """A conversation: a comment under the post, and the replies to it that the platform lists, oldest first."""

    comment: Comment
    #: Whether the page itself wrote it, such as a first comment.
    is_own: bool
    #: When a visitor last wrote in it; of a conversation without visitors, when the page began it.
    heard_at: datetime
    #: Comments of visitors in it.
    heard_count: int
    replies: list[Comment] = field(default_factory=list)
    #: Whether visitors wrote in it, and the page wrote last.
    is_answered: bool = False

    @property
    def waits(self) -> bool:
        """Whether a visitor wrote last, so that the page should answer."""
        return self.heard_count > 0 and not self.is_answered


def threads(comments: Iterable[Comment], account_id: str) -> list[Thread]:
    """Groups comments into conversations, newest first. `account_id` is the platform's id of the linked page.

    A conversation counts as answered if the page wrote last in it: a visitor who asks again waits again. On platforms
    that do not list replies (Facebook, X), a reply by anybody counts.
    """
    by_id = {it.id: it for it in comments}
    replies: dict[str, list[Comment]] = {}
    for comment in by_id.values():
        if (first := _first(comment, by_id)) is not comment:
            replies.setdefault(first.id, []).append(comment)
    found = []
    for comment in by_id.values():
        if _first(comment, by_id) is not comment:
            continue
        below = sorted(replies.get(comment.id, []), key=lambda it: (it.created_time, it.id))
        heard = [it.created_time for it in (comment, *below) if it.from_.id != account_id]
        is_replied = below[-1].from_.id == account_id if below else comment.reply_count > 0
        found.append(
            Thread(
                comment, comment.from_.id == account_id, max(heard, default=comment.created_time), len(heard),
                below, bool(heard) and is_replied,
            )
        )  # fmt: skip
    return sorted(found, key=lambda it: it.comment.created_time, reverse=True)


def _first(comment: Comment, by_id: dict[str, Comment]) -> Comment:
    """Returns the comment with which this comment's conversation begins, as far as the platform lists it."""
    seen = {comment.id}
    while comment.parent_id in by_id and comment.parent_id not in seen:
        comment = by_id[comment.parent_id]
        seen.add(comment.id)
    return comment
