"""First comments and replies: each is made once, whichever process dies, pauses or looks it up meanwhile."""

import random
from functools import partial

import msgspec
from publishing_kit.stage import Stage

from chassis.ids import new_id
from contracts import publishing as api
from contracts.errors import ApiError
from publishing.comments import replies
from publishing.platforms.base import OutcomeUnknown, PlatformRefusal, Refusal
from publishing.sending import first_comments
from publishing.store.received import Received
from testkit.interleaving import Process, Try, explore


def script(stage: Stage, draw: random.Random) -> None:
    """Sets the problem, if any, that the next comment meets at the platform."""
    refusal = PlatformRefusal(Refusal.TRANSIENT, "2", "not now")
    ends = (refusal, OutcomeUnknown("lost"), stage.platform.keep(OutcomeUnknown("lost")))
    stage.platform.comment_script = [draw.choice(ends) for _ in range(draw.randrange(2))]


def test_a_first_comment_is_written_once(stage: Stage, seeds: range) -> None:
    first, second = stage.interleaver.process("first"), stage.interleaver.process("second")

    def tick(process: Process, times: int = 1) -> None:
        app = stage.app(process)
        for _ in range(times):
            for task in first_comments._claim(app, 4):
                task()
            if times > 1:
                pass_time()

    def pass_time() -> None:
        stage.paused_seconds += 200
        stage.world.run(
            "UPDATE posts SET comment_wake_at = clock_timestamp(),"
            " comment_began_at = comment_began_at - interval '200 seconds'"
            " WHERE comment_state IN ('due', 'sending', 'unknown')"
        )

    def example(seed: int) -> None:
        page, text = stage.brand_page(), new_id("txt")
        stage.world.published(page, first_comment=text)
        script(stage, random.Random(seed))
        stage.interleaver.run(
            seed,
            Try("first", first, partial(tick, first)),
            stage.meanwhile("time passes", pass_time),
            Try("second", second, partial(tick, second, 3)),
        )
        stage.platform.comment_script = []
        for _ in range(6):
            pass_time()
            for task in first_comments._claim(stage.world.app, 4):
                task()
        [row] = stage.posts(page)
        written = [one for _, one in stage.platform.comments].count(text)
        assert written <= 1, f"written {written} times: {row.comment_state}"
        assert row.comment_state in ("done", "failed"), row.comment_state
        assert row.comment_state == "failed" or written, "called done, but is not there"

    explore(stage.interleaver, seeds, example)


def test_a_reply_is_written_once(stage: Stage, seeds: range) -> None:
    first, second, third = (stage.interleaver.process(name) for name in ("first", "second", "third"))

    def pass_time() -> None:
        stage.paused_seconds += 300
        stage.world.run(
            "UPDATE replies SET lease_until = clock_timestamp(), began_at = began_at - interval '300 seconds',"
            " unknown_since = unknown_since - interval '300 seconds'"
            " WHERE state NOT IN ('done', 'failed')"
        )

    def look(process: Process) -> None:
        for task in replies._claim_replies(stage.app(process), 4):
            task()

    def example(seed: int) -> None:
        page, text, caller = stage.brand_page(), new_id("txt"), stage.world.caller()
        post = stage.world.published(page)
        with stage.world.database.transaction() as connection:
            Received(connection).add(post.post_id, [text])
            comment = Received(connection).known(post.post_id, [text])[text]
        request = api.ReplyToComment(page_id=page.id, comment_id=comment.id, message=text)
        again = msgspec.structs.replace(caller, try_number=2)
        script(stage, random.Random(seed))
        run = stage.interleaver.run(
            seed,
            Try("first", first, partial(replies.reply, stage.app(first), caller, request)),
            stage.meanwhile("time passes", pass_time),
            Try("third looks", third, partial(look, third)),
            Try("second", second, partial(replies.reply, stage.app(second), again, request)),
            most_cuts=2,
        )
        stage.platform.comment_script = []
        for _ in range(3):
            pass_time()
            for task in replies._claim_replies(stage.world.app, 4):
                task()
        rows = stage.world.ask("SELECT * FROM replies WHERE post_id = :id", id=post.post_id)
        written = [one for _, one in stage.platform.comments].count(text)
        found = f"written {written}, {[row.state for row in rows]}"
        assert written <= 1, f"written twice: {found}"
        assert [row.state for row in rows].count("done") == written, f"not as it is shown: {found}"
        for name in ("first", "second"):
            ended = run[name]
            assert ended.error is None or ended.was_killed or isinstance(ended.error, ApiError), repr(
                ended.error
            )
            assert ended.value is None or written, f"a false answer: {found}"

    explore(stage.interleaver, seeds, example)
