"""Groups the comments of a post into conversations: what a visitor wrote, and the replies to it. Pure."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from posthaste.records import Comment


@dataclass(frozen=True)
class Thread:
    """A conversation under a post: a comment, and the replies to it, oldest first. It has only those comments that are
    in one part of the list, because the platform's list of comments is read part by part.
    """

    #: The oldest comment of it that is listed.
    comment: Comment
    #: The id of its first comment, which may be in a later part of the list.
    first_id: str
    #: Whether the page itself wrote `comment`, such as a first comment.
    is_own: bool
    #: When a visitor last wrote in it; of a conversation without visitors, when the page began it.
    heard_at: datetime
    #: When Posthaste received the newest comment of a visitor in it; of a conversation without visitors, as `heard_at`.
    received_at: datetime
    #: Comments of visitors in it.
    heard_count: int
    #: Whether the page wrote last, or the last comment needs no reply.
    is_ended: bool
    #: The id of the last comment in it, and whether nobody answered that one because it needs no reply.
    latest_id: str
    is_settled: bool
    replies: list[Comment] = field(default_factory=list)

    @property
    def is_answered(self) -> bool:
        """Whether visitors wrote in the conversation, and the linked page wrote last or need not reply."""
        return self.heard_count > 0 and self.is_ended

    @property
    def waits(self) -> bool:
        """Whether a visitor wrote last, so that the linked page should answer."""
        return self.heard_count > 0 and not self.is_ended


def threads(comments: Iterable[Comment], answered: Collection[str] = ()) -> list[Thread]:
    """Groups the comments of one part of a list, newest first, into conversations.

    A conversation counts as answered if the linked page wrote last in it, or if the last comment in it needs no reply.
    A comment counts as a visitor's if the platform does not say who wrote it.

    `answered`: ids of comments whose conversations end, in this sense, with a reply that is not in this part but in an
    earlier one. `answered_so_far` returns these ids. Other replies outside this part are ignored.
    """
    by_id = {it.id: it for it in comments}
    groups: dict[str, list[Comment]] = {}
    for comment in by_id.values():
        groups.setdefault(_first_id(comment, by_id), []).append(comment)
    found = [_thread(first_id, group, answered) for first_id, group in groups.items()]
    return sorted(found, key=lambda it: it.comment.created_time, reverse=True)


def answered_so_far(found: Iterable[Thread], answered: Iterable[str]) -> list[str]:
    """Returns the ids that `threads` needs as `answered` for the next part of the list, which has older comments.

    `found`: the conversations in this part. `answered`: the ids that `threads` got for this part.
    """
    found = list(found)
    listed = {it.id for thread in found for it in (thread.comment, *thread.replies)}
    begun_before = [it.first_id for it in found if it.is_ended and it.first_id not in listed]
    return list(dict.fromkeys([*begun_before, *(it for it in answered if it not in listed)]))


def _thread(first_id: str, group: list[Comment], answered: Collection[str]) -> Thread:
    # Some platforms tell times in whole seconds. Of the same second, the list has the newest first.
    group.reverse()
    group.sort(key=lambda it: (it.id != first_id, it.created_time))
    heard = [it for it in group if not it.is_own] or group[:1]
    received = [it.received_at or it.created_time for it in heard]
    is_answered = group[-1].is_own or any(it in answered for it in (first_id, *(one.id for one in group)))
    is_settled = not is_answered and group[-1].settled_at is not None
    return Thread(
        group[0], first_id, bool(group[0].is_own), max(it.created_time for it in heard), max(received),
        sum(not it.is_own for it in group),
        bool(is_answered or is_settled), group[-1].id, is_settled, group[1:],
    )  # fmt: skip


def _first_id(comment: Comment, by_id: dict[str, Comment]) -> str:
    """Returns the id of the comment with which this comment's conversation begins. Follows the ids of the parents as
    far as `by_id` has these comments, and returns the last id. If the parents form a circle, returns their smallest id.
    """
    passed = {comment.id}
    while comment.parent_id is not None:
        if comment.parent_id in passed:  # a circle: no comment is first
            return min(passed)
        if comment.parent_id not in by_id:
            return comment.parent_id
        comment = by_id[comment.parent_id]
        passed.add(comment.id)
    return comment.id
