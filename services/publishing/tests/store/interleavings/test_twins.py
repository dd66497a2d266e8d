"""Posts of one page with the same text and different pictures, whose outcomes are unknown: no look-up confuses them."""

import random
from functools import partial

import pytest
from publishing_kit.fake_media import FakeMedia
from publishing_kit.played_graph import PlayedGraph, opened
from publishing_kit.stage import Stage

from contracts import publishing as api
from testkit.interleaving import Try, explore


@pytest.mark.parametrize("code", ["FB", "IG"])
def test_posts_that_differ_by_their_picture_alone_are_out_once_each(
    stage: Stage, seeds: range, media: FakeMedia, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.setattr("publishing.sending.post_files.stored", opened)
    graph = PlayedGraph()
    stage.use_graph(graph, code)
    first, second = stage.interleaver.process("first"), stage.interleaver.process("second")
    worker, looker = stage.interleaver.process("worker"), stage.interleaver.process("looker")

    def example(seed: int) -> None:
        page = stage.brand_page(platform=code)
        draw = graph.draw = random.Random(seed)
        text = draw.choice(("hello", ""))
        pictures = [media.add(size_bytes=10) for _ in range(3)]
        at_once = [
            Try(process.name, process, partial(stage.publish_picture, process, page, text, picture))
            for process, picture in zip((first, second), pictures[: draw.randrange(3)], strict=False)
        ]
        for picture in pictures[len(at_once) :]:
            stage.make_due(page, text, media_ids=[picture])
        graph.loses = 0.7
        stage.interleaver.run(
            seed,
            *at_once,
            Try("worker", worker, partial(stage.send_due, worker)),
            stage.looks_come(),
            Try("looker", looker, partial(stage.recover, looker)),
        )
        graph.loses = 0.3
        stage.settle(page)
        check(stage, graph, page)

    explore(stage.interleaver, seeds, example)


def check(stage: Stage, graph: PlayedGraph, page: api.Page) -> None:
    """Asserts that each published post is on the platform once and has a remote id, and that no failed post is there.

    Facebook shows from which staged photo a post was made. Instagram does not show the container: if all posts are
    published, one may have another's id.
    """
    held = [url.rpartition("/")[0].rpartition("/")[2] for url in graph.pictures(page.account_id)]
    rows = stage.posts(page)
    found = f"told {[(row.media_ids[0], row.state, row.error_code) for row in rows]}, on the platform {held}"
    assert len(set(held)) == len(held), f"posted twice: {found}"
    published = [row for row in rows if row.state == "published"]
    for row in rows:
        [picture] = row.media_ids
        if row.state == "published":
            assert picture in held, f"called published, but is not out: {found}"
            is_own = page.platform == "IG" or picture in graph.shows(row.remote_id)
            assert is_own, f"takes another's post for its own: {found}"
        elif row.error_code != "PLATFORM_OUTCOME_UNKNOWN":
            assert picture not in held, f"called failed, but is out: {found}"
    assert len({row.remote_id for row in published}) == len(published), f"two have one post: {found}"
