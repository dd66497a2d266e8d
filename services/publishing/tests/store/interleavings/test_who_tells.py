"""A publish at once whose client may stop waiting at any moment: either the answer or one event reports the outcome.
Subscriptions with `immediate_posts` get one event in every case.
"""

import random
from functools import partial

from publishing_kit.stage import Client, Stage
from publishing_kit.world import ACCOUNT

from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.posts import answers
from testkit.interleaving import Try, explore


def test_an_outcome_is_told_once_whenever_the_client_stops_waiting_and_the_process_dies(
    stage: Stage, seeds: range
) -> None:
    process = stage.interleaver.process("publishing")

    def example(seed: int) -> None:
        page, caller = stage.brand_page(), stage.world.caller()
        client = Client(partial(answers.leave, process.database, caller))
        chance = random.Random(seed)
        refuses, is_reported = chance.random() < 0.5, chance.random() < 0.5
        note = "INSERT INTO immediate_accounts VALUES (:id) ON CONFLICT DO NOTHING"
        stage.world.run(
            note if is_reported else "DELETE FROM immediate_accounts WHERE account_id = :id", id=ACCOUNT
        )
        stage.platform.script = [PlatformRefusal(Refusal.REJECTED, "100", "no")] if refuses else []
        part = partial(stage.publishing, stage.app(process), page, caller, "hello", client.answer)
        run = stage.interleaver.run(
            seed,
            Try("publish", process, client.waits_for(part)),
            Try("the client stops waiting", process, client.stop_waiting, cuts=()),
        )
        stage.platform.script = []
        stage.settle(page)
        heard, posted, told = client.heard(run["publish"]), len(stage.posted(page)), stage.told(page)
        ends = [event for event in told if event in ("post.published", "post.failed")]
        immediate = [event for event in stage.told(page, immediate_posts=True) if event.startswith("post.")]
        found = f"heard {heard}, {posted} posted, events {told}, {immediate} with immediate_posts"
        assert posted <= 1, f"posted twice: {found}"
        assert not ends or heard in ("unknown", "nothing"), f"told twice: {found}"
        if heard in ("published", "refused"):
            assert posted == (heard == "published"), f"a false answer: {found}"
        if heard == "unknown":
            assert ends == ["post.published" if posted else "post.failed"], f"told by nobody: {found}"
        if is_reported:
            outcome = [
                f"post.{row.state}" for row in stage.posts(page) if row.state in ("published", "failed")
            ]
            assert immediate == outcome, f"not told once with immediate_posts: {found}"
        else:
            assert immediate == ends, f"told more than is asked for: {found}"

    explore(stage.interleaver, seeds, example)
