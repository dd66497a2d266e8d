"""Whether a post that a look-up found by its looks may be another post of ours. Pure.

An outcome is concluded only if no other open post could own what was found. Otherwise one post could take the other's,
and the other would be sent again.
"""

from collections.abc import Collection

from publishing.platforms.base import Guess
from publishing.platforms.likeness import same_text
from publishing.records import Post


def may_be_anothers(post: Post, guess: Guess, others: Collection[Post]) -> bool:
    """`others`: the page's other posts that may be on the platform without our knowing their remote ids.

    One that is being sent right now is always waited for: its own answer will name its post. Otherwise an equal post
    does no harm: whichever of the two is called published, the page shows what was asked for, as often as it was asked
    for. A post that differs in what the look-up cannot see (its pictures, its settings) may own one of the candidates;
    only if there are more candidates than such posts is one of them certainly this post's.
    """
    alike = [other for other in others if _looks_like(other, post, by_text=guess.by_text)]
    rivals = [other for other in alike if not _is_equal(other, post)]
    return any(other.state == "sending" for other in alike) or 0 < guess.candidates <= len(rivals)


def _looks_like(other: Post, post: Post, *, by_text: bool) -> bool:
    if _media_count(other) != _media_count(post):
        return False
    return not by_text or same_text(other.message or "", post.message or "")


def _is_equal(other: Post, post: Post) -> bool:
    """Whether both ask for the same: nobody could tell their posts apart."""
    return _asked(other) == _asked(post)


def _asked(post: Post) -> tuple[object, ...]:
    return (
        post.message or "",
        post.media_ids,
        post.media_urls,
        post.settings or {},
        post.first_comment or "",
    )


def _media_count(post: Post) -> int:
    return len(post.media_ids) + len(post.media_urls)
