"""Decides which post on the platform an attempt of ours made, if nothing but the content matches. Pure.

A post is assigned to an attempt only if no other open post of ours could have made it. Otherwise the wrong one of our
posts could count as published, and the other one would be sent again.
"""

from collections.abc import Collection

from publishing.platforms.base import Published
from publishing.platforms.post_matching import similar_text
from publishing.records import OpenPost, Post


def own_post(
    post: Post, found: Published, taken: Collection[str], others: Collection[OpenPost]
) -> Published | None:
    """Returns the post on the platform that `post` became; None while that is not certain.

    `taken`: the remote ids that other posts of ours have by now. `others`: the page's other posts that may be on the
    platform although their remote ids are not known.

    If the look-up found the post by an id, returns it; None if another post of ours has its remote id. Otherwise the
    look-up found only similar posts, the candidates in `found.guess`. One of them is chosen by these rules:

    - None while a similar post of ours is being sent on the page: the platform's answer will tell which candidate is
      that post.
    - A similar post of ours with other pictures or settings may own one candidate, because a look-up does not compare
      all of these. So the result is None unless there are more candidates than such posts.
    - Candidates are assigned in the order in which the attempts began, because a page's posts are sent one by one.
      Between equal posts any assignment is right.
    """
    if found.guess is None:
        return None if found.remote_id in taken else found
    candidates = [one for one in found.guess.candidates if one.remote_id not in taken]
    alike = [other for other in others if not found.guess.by_text or _has_similar_text(other.post, post)]
    rivals = [other for other in alike if _asked(other.post) != _asked(post)]
    if any(other.post.state == "sending" for other in alike) or len(candidates) <= len(rivals):
        return None
    earlier = sum(other.is_earlier for other in alike)
    return candidates[min(earlier, len(candidates) - 1)]


def _has_similar_text(other: Post, post: Post) -> bool:
    """Whether the texts of the two posts are so similar that a look-up may mistake one post for the other.

    Media are not compared, because some look-ups do not compare them either.
    """
    return similar_text(other.message or "", post.message or "")


def _asked(post: Post) -> tuple[object, ...]:
    """Returns everything that people see of a post on the platform: two posts with the same value look the same.

    The first comment is left out: it is made later, under the post on the platform that `post` is found to be.
    """
    return (post.message or "", post.media_ids, post.media_urls, post.settings or {})
