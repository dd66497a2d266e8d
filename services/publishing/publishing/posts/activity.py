"""Lists published posts by their latest activity: the newest comment of a visitor or, without one, the publishing.

Two lists are merged: the posts with comments in the order of their newest comment, and all posts in the order of
publishing. A post with comments is in both, and the merged list takes it from the first. No index has the merged order,
because publishing any post would then cost one more index entry.
"""

import heapq
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any

from chassis.cursor import encode_position
from contracts import publishing as api
from publishing.records import Post
from publishing.store.lists import Lists

#: The time that sorts the post, its id, and the post; None for a post of the second list that is in the first too.
_Entry = tuple[datetime, str, Post | None]

#: How often the lists are read on to fill one page. A page may have fewer posts when many were left out.
_MOST_ROUNDS = 5


def listed(lists: Lists, account_id: str, limit: int, **where: Any) -> api.PublishedPostList:
    """Returns one page of the list. `where`: the filters of `Lists.published`, with the position `before` at which the
    page begins."""
    shown: list[Post] = []
    end = where.pop("before")
    for _ in range(_MOST_ROUNDS):
        found = _entries(lists, account_id, limit + 1, before=end, **where)
        shown += [post for _, _, post in found if post is not None]
        end = found[-1][:2] if len(found) > limit else None
        if len(shown) > limit:
            last = shown[limit - 1]
            end = _time_of(last), last.id
        if end is None or len(shown) > limit:
            break
    return api.PublishedPostList(
        published_posts=tuple(post.published_view() for post in shown[:limit]),
        next_cursor=None if end is None else encode_position(*end),
    )


def _entries(lists: Lists, account_id: str, limit: int, **where: Any) -> list[_Entry]:
    """Returns the newest `limit` entries, newest first. A post with comments has the time of its newest comment, any
    other post the time when it was published.
    """
    # Read in this order, a post that gets its first comment between the two reads is in both lists, never in none.
    published = lists.published(account_id, limit=limit, since=None, **where)
    commented = {it.id: it for it in lists.commented(account_id, limit=limit, **where)}
    by_comment: Iterator[_Entry] = ((_time_of(it), it.id, it) for it in commented.values())
    by_publishing: Iterator[_Entry] = (
        (it.out_at, it.id, None if it.commented_at or it.id in commented else it)
        for it in published
        if it.out_at is not None
    )
    merged = heapq.merge(by_comment, by_publishing, key=lambda entry: entry[:2], reverse=True)
    return list(islice(merged, limit))


def _time_of(post: Post) -> datetime:
    at = post.active_at
    assert at is not None, "a published post has a time"
    return at
