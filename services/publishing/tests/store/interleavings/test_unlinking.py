"""A page is unlinked while one of its posts is being sent: nothing is published after the answer to the unlinking."""

import random
from functools import partial

from publishing_kit.stage import Stage

from contracts import publishing as api
from publishing.pages import unlinking
from publishing.posts.answers import Answer
from testkit.interleaving import Process, Try, explore


class Unlinking:
    """Unlinks a page. Then counts its posts on the platform."""

    def __init__(self, stage: Stage, process: Process, page: api.Page) -> None:
        self._stage, self._app, self._page = stage, stage.app(process), page
        self.posted_before: int | None = None

    def __call__(self) -> None:
        request = api.UnlinkPage(id=self._page.id, cancel_queued=True)
        unlinking.unlink(self._app, self._stage.world.caller(), request)
        self.posted_before = len(self._stage.posted(self._page))

    def check(self) -> None:
        self._stage.settle(self._page)
        after = len(self._stage.posted(self._page))
        assert self.posted_before in (None, after), f"{after} posts, {self.posted_before} at the answer"


def test_nothing_is_published_at_once_after_a_page_was_unlinked(stage: Stage, seeds: range) -> None:
    first, second = stage.interleaver.process("first"), stage.interleaver.process("second")

    def example(seed: int) -> None:
        page = stage.brand_page()
        unlink = Unlinking(stage, second, page)
        part = partial(stage.publishing, stage.app(first), page, stage.world.caller(), "hello", Answer())
        stage.interleaver.run(seed, Try("publish", first, part), Try("unlink", second, unlink))
        unlink.check()

    explore(stage.interleaver, seeds, example)


def test_no_due_post_is_sent_after_a_page_was_unlinked(stage: Stage, seeds: range) -> None:
    worker, second = stage.interleaver.process("worker"), stage.interleaver.process("second")

    def example(seed: int) -> None:
        page = stage.brand_page()
        for number in range(random.Random(seed).randrange(1, 3)):
            stage.make_due(page, f"post {number}")
        unlink = Unlinking(stage, second, page)
        stage.interleaver.run(
            seed,
            Try("send", worker, partial(stage.send_due, worker)),
            Try("unlink", second, unlink),
            stage.leases_end(),
        )
        unlink.check()

    explore(stage.interleaver, seeds, example)
