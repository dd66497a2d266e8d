"""The state of the simulated platforms: posts, comments and objects that are not part of a post yet. It is kept in
memory, behind one lock.
"""

import itertools
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(slots=True)
class Medium:
    """A photo or video of a post."""

    #: photo or video.
    type: str
    #: Its size.
    bytes: int
    #: The URL from which the platform fetched it; empty for uploaded bytes.
    url: str = ""
    #: The platform's own id of it.
    medium_id: str = ""
    #: Its alternative text, which is not part of the post's text.
    alt_text: str = ""


@dataclass(slots=True)
class Comment:
    """A comment, or a reply if it has a `parent_id`. `author_id` is the id of the page's account or of a visitor; empty
    if Facebook does not tell who wrote it."""

    comment_id: str
    post_id: str
    author_id: str
    author: str
    text: str
    created_at: datetime
    parent_id: str | None = None


@dataclass(slots=True)
class Post:
    """A published post with its comments and counts."""

    post_id: str
    account_id: str
    platform: str
    author: str
    text: str
    media: list[Medium]
    created_at: datetime
    #: Other fields of the request, by the platform's names.
    settings: dict[str, Any] = field(default_factory=dict)
    comments: list[Comment] = field(default_factory=list)
    likes: int = 0
    shares: int = 0
    #: Set through the control API, then changed with each comment.
    comment_count: int = 0


class World:
    """Stores posts, comments and staged objects (uploaded files and others that are not part of a post yet)."""

    def __init__(self) -> None:
        #: Held while objects are read and then changed.
        self.lock = threading.RLock()
        # The first number is the present time in microseconds, so that ids are not repeated after a restart.
        self._serial = itertools.count(time.time_ns() // 1000)
        self.clear()

    def clear(self) -> None:
        """Deletes all posts, comments and staged objects."""
        with self.lock:
            self.posts: dict[str, Post] = {}
            self.comments: dict[str, Comment] = {}
            #: Id → object that is not part of a post yet: unpublished photos, videos, containers.
            self.staged: dict[str, Any] = {}
            self._by_account: defaultdict[str, list[Post]] = defaultdict(list)

    def new_id(self, prefix: str = "") -> str:
        """Returns `prefix` and a number that no earlier call has returned, not even before a restart."""
        return f"{prefix}{next(self._serial)}"

    def add_post(self, post: Post) -> None:
        """Stores a post."""
        with self.lock:
            self.posts[post.post_id] = post
            self._by_account[post.account_id].append(post)

    def remove_post(self, post_id: str) -> None:
        """Removes a post with its comments."""
        with self.lock:
            post = self.posts.pop(post_id, None)
            if post is not None:
                self._by_account[post.account_id].remove(post)
                for comment in post.comments:
                    self.comments.pop(comment.comment_id, None)

    def add_comment(self, comment: Comment) -> None:
        """Stores a comment."""
        with self.lock:
            post = self.posts[comment.post_id]
            post.comments.append(comment)
            post.comment_count += 1
            self.comments[comment.comment_id] = comment

    def remove_comment(self, comment_id: str) -> None:
        """Removes a comment. Replies to it stay."""
        with self.lock:
            comment = self.comments.pop(comment_id, None)
            if comment is not None:
                post = self.posts[comment.post_id]
                post.comments.remove(comment)
                post.comment_count -= 1

    def posts_of(self, account_id: str | None = None, platform: str | None = None) -> list[Post]:
        """Returns the posts of an account or platform, or all posts, in the order of their creation."""
        with self.lock:
            posts = (
                list(self.posts.values())
                if account_id is None
                else list(self._by_account.get(account_id, ()))
            )
        return [post for post in posts if platform in (None, post.platform)]

    def replies_to(self, comment: Comment) -> list[Comment]:
        """Returns the direct replies to a comment, oldest first."""
        post = self.posts.get(comment.post_id)
        return [reply for reply in (post.comments if post else []) if reply.parent_id == comment.comment_id]
