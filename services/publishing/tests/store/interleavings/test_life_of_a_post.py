"""A due post from its claim to its end: with two workers, paused processes, look-ups, and a client who changes the
post.
"""

import random
from functools import partial

from publishing_kit.stage import Stage

from contracts import publishing as api
from contracts.errors import ApiError
from publishing.platforms.base import OutcomeUnknown, PlatformRefusal, Refusal
from publishing.posts import cancellation, edits, retry
from publishing.sending import claim_recovery
from testkit.interleaving import Ended, Try, explore

OLD, NEW = "old text", "new text"


def test_a_due_post_goes_out_once_and_as_its_client_was_told(stage: Stage, seeds: range) -> None:
    first, second, third, client = (
        stage.interleaver.process(name) for name in ("first", "second", "third", "client")
    )

    def example(seed: int) -> None:
        draw, platform = random.Random(seed), stage.platform
        page = stage.brand_page()
        post = stage.make_due(page, OLD)
        platform.script = [
            draw.choice((no(), not_now(), OutcomeUnknown("lost"), platform.keep(OutcomeUnknown("lost"))))
            for _ in range(draw.randrange(3))
        ]
        worker, caller = stage.app(first), stage.world.caller()
        change = draw.choice(
            (
                partial(cancellation.cancel, stage.app(client), caller, api.PostId(id=post.id)),
                partial(edits.edit, stage.app(client), caller, api.EditPost(id=post.id, message=NEW)),
                partial(retry.retry, stage.app(client), caller, api.PostId(id=post.id)),
            )
        )
        run = stage.interleaver.run(
            seed,
            Try("first", first, partial(stage.send_due, first, worker)),
            Try("first looks for lost claims", first, partial(claim_recovery.recover_lost_claims, worker)),
            Try("second", second, partial(stage.send_due, second)),
            Try("third", third, partial(stage.recover, third)),
            Try("client", client, change),
            stage.leases_end(),
            stage.looks_come(),
            most_cuts=2,
        )
        platform.script = []
        stage.settle(page)
        check(stage, page, change.func.__name__, run["client"])

    explore(stage.interleaver, seeds, example)


def check(stage: Stage, page: api.Page, change: str, answer: Ended) -> None:
    posted, told = stage.posted(page), stage.told(page)
    [row] = stage.posts(page)
    is_refused = isinstance(answer.error, ApiError)
    assert answer.error is None or is_refused or answer.was_killed, f"unforeseen: {answer.error!r}"
    found = f"{change} {'refused' if is_refused else answer.value and 'done'}, {row.state}, {posted}, {told}"
    assert len(posted) <= 1, f"posted twice: {found}"
    assert posted == ([row.message] if row.state == "published" else []), f"not as it is shown: {found}"
    assert told.count("post.published") == len(posted), f"not told once: {found}"
    if answer.value is not None and change == "cancel":
        assert (row.state, posted) == ("cancelled", []), f"a false answer: {found}"
    if answer.value is not None and change == "edit":
        assert row.message == NEW, f"a false answer: {found}"


def no() -> PlatformRefusal:
    return PlatformRefusal(Refusal.REJECTED, "100", "no")


def not_now() -> PlatformRefusal:
    return PlatformRefusal(Refusal.TRANSIENT, "2", "not now")
