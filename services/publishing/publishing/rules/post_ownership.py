"""Chooses the post's own among the posts that a look-up found by their looks. Pure.

An outcome is concluded only if no other open post could own what was found. Otherwise one post could take the other's,
and the other would be sent again.
"""

from collections.abc import Collection

from publishing.platforms.base import Published
from publishing.platforms.post_matching import similar_text
from publishing.records import OpenPost, Post


def own_post(
    post: Post, found: Published, taken: Collection[str], others: Collection[OpenPost]
) -> Published | None:
    """The post of the platform that is this post's; None while it may be another post's.

    `taken`: the remote ids that other posts have by now. `others`: the page's other posts that may be on the platform
    without our knowing their remote ids.

    A post that is being sent right now is always waited for: its own answer will name its post. Otherwise an equal post
    does no harm: whichever of the two is called published, the page shows what was asked for, as often as it was asked
    for. A post that differs in what the look-up cannot see (its pictures, its settings) may own one of the candidates;
    only if there are more candidates than such posts is one of them certainly this post's. A page's posts are sent one
    after another, so that the candidates are shared out in the order in which the attempts began.
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
    """Whether one's post may be taken for the other's by its text. Media are not compared: some look-ups take a post
    with any media, and only Facebook tells how many there are."""
    return similar_text(other.message or "", post.message or "")


def _asked(post: Post) -> tuple[object, ...]:
    """What the platform's page shows of a post: nobody can tell posts apart for which it is the same. First comments
    are not part of it, as they are made under whichever post is called published."""
    return (post.message or "", post.media_ids, post.media_urls, post.settings or {})
