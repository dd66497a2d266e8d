"""Whether a post that a look-up found by its content may belong to another post of ours. No post is sent twice because
of it.
"""

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from publishing.platforms.base import Published, guessed
from publishing.records import OpenPost, Post
from publishing.rules.post_ownership import own_post

AT = datetime(2026, 11, 20, tzinfo=UTC)
_EMPTY = dict.fromkeys(Post.__struct_fields__)


def post(number: int = 0, message: str | None = "hello", photo: str | None = "a", **fields: Any) -> Post:
    media = [photo] if photo else []
    given = {
        "id": f"pst_{number}",
        "message": message,
        "media_ids": media,
        "media_urls": [],
        "state": "unknown",
    }
    return Post(**_EMPTY | given | fields)


def candidates(count: int) -> list[Published]:
    return [Published(str(number)) for number in range(count)]


def besides(*others: Post) -> list[OpenPost]:
    return [OpenPost(other, is_earlier=False) for other in others]


@pytest.mark.parametrize(
    ("count", "others", "is_open"),
    [
        (1, [], False),
        (1, [post(1, photo="b")], True),
        (1, [post(1, message=" hello ", photo="b")], True),
        (1, [post(1, message="another", photo="b")], False),
        (1, [post(1, photo=None)], True),
        (1, [post(1, photo=None, state="sending")], True),
        (2, [post(1, photo="b")], False),
        (2, [post(1, photo="b"), post(2, photo="c")], True),
        (1, [post(1, settings={"facebook_settings": {"link": "https://example.com"}})], True),
        (1, [post(1)], False),
        (1, [post(1, first_comment="first!")], False),
        (1, [post(1, state="sending")], True),
        (1, [post(1, photo="b", state="failed")], True),
    ],
)
def test_what_could_be_another_posts_is_not_concluded_from(
    count: int, others: list[Post], is_open: bool
) -> None:
    found = own_post(post(), guessed(candidates(count)), (), besides(*others))
    assert found == (None if is_open else Published("0"))


def test_without_texts_that_agree_every_open_post_may_be_meant() -> None:
    others = besides(post(1, message="another"))
    assert own_post(post(), guessed(candidates(1), by_text=False), (), others) is None
    assert own_post(post(), guessed(candidates(1)), (), others) is not None


@pytest.mark.parametrize(
    "message", ["see http://example.com", "see example.com/", "@ann see https://example.com"]
)
def test_texts_that_a_platform_may_show_alike_may_be_one_anothers(message: str) -> None:
    ours = post(message="see https://example.com")
    assert own_post(ours, guessed(candidates(1)), (), besides(post(1, message, photo="b"))) is None


def test_a_candidate_that_has_an_owner_by_now_counts_no_more() -> None:
    rival = besides(post(1, photo="b"))
    assert own_post(post(), guessed(candidates(2)), {"0"}, rival) is None
    assert own_post(post(), guessed(candidates(3)), {"0"}, rival) == Published("1")
    assert own_post(post(), guessed(candidates(1)), {"0"}, ()) is None
    assert own_post(post(), Published("0"), {"0"}, ()) is None


def test_candidates_are_shared_out_in_the_order_of_the_attempts() -> None:
    first, second = post(1, photo="b"), post(2, photo="c")
    others = [OpenPost(first, is_earlier=True), OpenPost(second, is_earlier=False)]
    assert own_post(post(), guessed(candidates(3)), (), others) == Published("1")
    equals = [OpenPost(post(number), is_earlier=True) for number in (1, 2)]
    assert own_post(post(), guessed(candidates(1)), (), equals) == Published("0")


@dataclass
class Page:
    """A page that shows the text and pictures of posts and no ids, so that a look-up finds a post only by its text.

    Calls and look-ups take two steps each. Other steps may happen in between.
    """

    posts: list[Post]
    #: (text, pictures) in the order of arrival; the index is the remote id.
    shown: list[Any] = field(default_factory=list)
    owners: dict[str, str] = field(default_factory=dict)
    #: By post: the remote id that its call made, if it did; what its look found.
    sent: dict[str, str | None] = field(default_factory=dict)
    #: Ids of the posts, in the order of their attempts.
    begun: list[str] = field(default_factory=list)
    found: dict[str, list[Published]] = field(default_factory=dict)

    def set(self, post: Post, **fields: Any) -> None:
        self.posts = [
            msgspec.structs.replace(one, **fields) if one.id == post.id else one for one in self.posts
        ]

    def send(self, post: Post, arrives: bool) -> None:
        if arrives:
            self.shown.append(asked(post))
        self.sent[post.id] = str(len(self.shown) - 1) if arrives else None
        self.begun = [*(one for one in self.begun if one != post.id), post.id]
        self.set(post, state="sending")

    def answer(self, post: Post, is_lost: bool) -> None:
        remote_id = self.sent.pop(post.id)
        if remote_id is not None and not is_lost:
            assert remote_id not in self.owners, "another post was taken for this one"
            self.owners[remote_id] = post.id
            self.set(post, state="published")
        else:
            self.set(post, state="unknown")

    def look(self, post: Post) -> None:
        self.found[post.id] = [
            Published(str(number))
            for number, (text, _) in enumerate(self.shown)
            if str(number) not in self.owners and text == post.message
        ]

    def conclude(self, post: Post, is_last: bool) -> None:
        others = [
            OpenPost(one, is_earlier=self.begun.index(one.id) < self.begun.index(post.id))
            for one in self.posts
            if one.id != post.id and one.state in ("sending", "unknown", "failed")
        ]
        found = self.found.pop(post.id)
        if not found:
            self.set(post, state="queued")
        elif own := own_post(post, guessed(found), self.owners, others):
            self.owners[own.remote_id] = post.id
            self.set(post, state="published")
        elif is_last:
            self.set(post, state="failed")

    def step(self, post: Post, chance: random.Random, is_late: bool) -> None:
        if post.state == "queued":
            self.send(post, arrives=chance.random() < 0.75)
        elif post.state == "sending":
            self.answer(post, is_lost=chance.random() < (0.3 if is_late else 0.8))
        elif post.id not in self.found:
            self.look(post)
        else:
            self.conclude(post, is_last=is_late)


def asked(post: Post) -> tuple[str | None, tuple[str, ...]]:
    return post.message, tuple(post.media_ids)


def test_in_2000_orders_of_calls_and_looks_at_equal_texts_nothing_is_shown_more_often_than_asked_for() -> (
    None
):
    ends: Counter[str] = Counter()
    for seed in range(2_000):
        chance = random.Random(seed)
        wishes = [
            post(number, chance.choice(["hello", ""]), chance.choice(["a", "b", None]), state="queued")
            for number in range(chance.randint(2, 5))
        ]
        page = Page(wishes)
        for step in range(150):
            open_posts = [one for one in page.posts if one.state in ("queued", "sending", "unknown")]
            if not open_posts:
                break
            page.step(chance.choice(open_posts), chance, is_late=step >= 75)
        assert Counter(page.shown) <= Counter(map(asked, wishes)), f"seed {seed}"
        assert all(one.state in ("published", "failed") for one in page.posts), f"seed {seed}: never decided"
        ends.update(one.state for one in page.posts)
    assert ends["published"] > ends["failed"] > 0
