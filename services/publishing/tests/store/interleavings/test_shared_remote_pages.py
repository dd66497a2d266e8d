"""One page of a platform that two brands have linked: both links share one queue and the same guardrails."""

import random
from functools import partial

from publishing_kit.stage import Stage

from contracts import publishing as api
from contracts.platforms import PLATFORMS
from publishing.posts.answers import Answer
from testkit.interleaving import Try, explore


def test_two_brands_posts_on_one_page_go_out_one_at_a_time(stage: Stage, seeds: range) -> None:
    first, second = stage.interleaver.process("first"), stage.interleaver.process("second")

    def example(seed: int) -> None:
        page = stage.brand_page()
        other = stage.connect_again(page)
        draw = random.Random(seed)
        texts = [f"{number}" for number in range(draw.randrange(2, 5))]
        for number, text in enumerate(texts):
            stage.make_due(draw.choice((page, other)) if number else page, text, number=number)
        sending = stage.platform.sending = Overlaps()
        stage.interleaver.run(
            seed,
            Try("first", first, partial(stage.send_due, first)),
            Try("second", second, partial(stage.send_due, second)),
        )
        assert sending.most <= 1, "two posts of a page on their way at once"
        check_order(stage, page, other)
        stage.settle(page, other)
        posted = stage.posted(page)
        assert sorted(posted) == texts, f"lost or twice: {posted}"

    explore(stage.interleaver, seeds, example)


def test_two_brands_posts_on_one_page_count_against_one_cap(stage: Stage, seeds: range) -> None:
    first, second = stage.interleaver.process("first"), stage.interleaver.process("second")
    cap = PLATFORMS["LN"].per_hour
    assert cap == 3

    def example(seed: int) -> None:
        page = stage.brand_page(platform="LN")
        other = stage.connect_again(page)
        for number in range(cap - 1):
            stage.publishing(stage.world.app, page, stage.world.caller(), f"early {number}", Answer())
        part = partial(stage.publishing, stage.app(first), page, stage.world.caller(), "one", Answer())
        due = random.Random(seed).random() < 0.5
        if due:
            stage.make_due(other, "two")
        again = partial(stage.publishing, stage.app(second), other, stage.world.caller(), "two", Answer())
        stage.interleaver.run(
            seed,
            Try("first", first, part),
            Try("second", second, partial(stage.send_due, second) if due else again),
        )
        stage.recover_all()
        assert len(stage.posted(page)) <= cap, f"{len(stage.posted(page))} posts within an hour"

    explore(stage.interleaver, seeds, example)


def check_order(stage: Stage, *pages: api.Page) -> None:
    """Asserts that each brand's posts were sent in the order of their times. The order between the brands is open."""
    posted = stage.posted(pages[0])
    for page in pages:
        own = [row.message for row in stage.posts(page)]
        in_turn = [text for text in posted if text in own]
        assert in_turn == sorted(set(in_turn)), f"out of order or twice: {in_turn} of {posted}"


class Overlaps:
    """Counts how many posts of a page are being sent at the same moment, and keeps the maximum."""

    def __init__(self) -> None:
        self.now = self.most = 0

    def __enter__(self) -> None:
        self.now += 1
        self.most = max(self.most, self.now)

    def __exit__(self, *_: object) -> None:
        self.now -= 1
