"""The due worker over a real database: order, exactly once, lapsed claims, guardrails at sending."""

import threading
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from contracts import publishing as api
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from publishing.platforms import permission
from publishing.platforms.base import OutcomeUnknown, PlatformRefusal, Refusal
from publishing.platforms.meta.errors import refusal_from
from publishing.posts import cancellation, edits, retry
from publishing.sending import claim_recovery, due_posts, reconciliation
from publishing.sending.context import SendingContext
from publishing.store.sending import AttemptOutcome, Claim, Sending
from testkit.waiting import until


def test_due_posts_of_a_page_go_out_in_scheduled_order(world: World, platform: FakePlatform) -> None:
    page = world.page()
    world.fill(page, 10)
    world.shift(3600)
    world.send()
    assert platform.messages == [f"{page.id} {n}" for n in range(10)]
    assert world.events() == ["post.published"] * 10
    assert {row.state for row in world.ask("SELECT state FROM posts")} == {"published"}
    assert {row.outcome for row in world.ask("SELECT outcome FROM attempts")} == {"published"}


def test_a_post_that_is_not_due_stays_queued(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    world.schedule(world.page(), world.in_minutes(11))
    assert due_posts.publish_due_posts(app) == 0
    assert platform.posts == []


def test_two_workers_on_the_same_due_rows_send_each_post_once_and_in_order(
    world: World, make_app: Callable[..., SendingContext], platform: FakePlatform
) -> None:
    pages = [world.page(brand=f"brd_{n % 3}") for n in range(12)]
    for page in pages:
        world.fill(page, 5)
    world.shift(3600)
    threads = [
        threading.Thread(target=world.send, args=(make_app(page_queues=4, posts_per_queue=2),))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    def all_are_out() -> bool:
        world.send()  # finds nothing while a worker still claims the posts of a brand
        return len(platform.messages) >= 60

    until(all_are_out)
    assert len(platform.messages) == 60
    for page in pages:
        mine = [message for message in platform.messages if message.startswith(page.id)]
        assert mine == [f"{page.id} {n}" for n in range(5)]


def test_told_to_stop_a_lane_ends_its_post_and_gives_back_the_others(
    world: World, app: SendingContext, make_app: Callable[..., SendingContext], platform: FakePlatform
) -> None:
    page, publish = world.page(), platform.publish
    world.fill(page, 3)
    world.shift(3600)

    has_begun = threading.Event()

    def told_meanwhile(*args: Any) -> Any:
        app.is_stopping = True
        has_begun.set()
        return publish(*args)

    platform.publish = told_meanwhile
    assert due_posts.publish_due_posts(app) == 3
    assert has_begun.wait(30)
    app.finish()
    assert platform.messages == [f"{page.id} 0"]
    assert [row.state for row in world.ask("SELECT state FROM posts ORDER BY id")] == [
        "published",
        "queued",
        "queued",
    ]
    world.send(make_app())
    assert platform.messages == [f"{page.id} {n}" for n in range(3)]


def test_told_to_stop_it_waits_for_a_call_that_goes_on_behind_its_answer(app: SendingContext) -> None:
    end = threading.Thread(target=app.finish)
    with app.live_call("usr_a"):
        end.start()
        until(lambda: app.is_stopping)
        end.join(0.2)
        assert end.is_alive()
    end.join(30)
    assert not end.is_alive()


def test_a_retryable_refusal_comes_again_after_1_5_and_15_minutes_and_then_fails(
    world: World, platform: FakePlatform
) -> None:
    post = world.due_post()
    platform.script = [PlatformRefusal(Refusal.TRANSIENT, "2", "try later") for _ in range(4)]
    for attempt, wait in enumerate((60, 300, 900), 1):
        world.send()
        row = world.state(post.id)
        assert (row.state, row.attempts) == ("queued", attempt)
        assert abs((row.out_at - world.now()).total_seconds() - wait) < 5
        world.shift(wait - 10)
        world.send()
        assert world.state(post.id).attempts == attempt
        world.shift(10)
    world.send()
    row = world.state(post.id)
    assert (row.state, row.attempts, row.error_code) == ("failed", 4, "PLATFORM_REJECTED")
    assert platform.posts == []
    assert world.events() == ["post.failed"]


def test_a_longer_wait_of_the_platform_is_honoured(world: World, platform: FakePlatform) -> None:
    post = world.due_post()
    platform.script = [PlatformRefusal(Refusal.RATE_LIMITED, "4", "slow down", wait_seconds=1800)]
    world.send()
    assert abs((world.state(post.id).out_at - world.now()).total_seconds() - 1800) < 5


def test_a_limited_page_rests_as_long_as_the_platform_says_and_others_do_not(
    world: World, platform: FakePlatform
) -> None:
    pages = [world.page(), world.page()]
    for page in pages:
        world.fill(page, 3)
    world.shift(3600)
    platform.script = [PlatformRefusal(Refusal.RATE_LIMITED, "4", "slow down", wait_seconds=1800)]
    world.send()
    in_order = [[f"{page.id} {n}" for n in range(3)] for page in pages]
    assert platform.messages in in_order
    limited = next(messages for messages in in_order if messages != platform.messages)
    platform.posts.clear()
    world.shift(1790)
    world.send()
    assert platform.messages == []
    world.shift(11)
    world.send()
    assert platform.messages == limited
    assert sorted(row.attempts for row in world.ask("SELECT attempts FROM posts")) == [1, 1, 1, 1, 1, 2]


def test_a_limited_page_rests_although_one_of_its_posts_is_being_changed(world: World) -> None:
    page = world.page()
    first, second = world.fill(page, 2)
    with world.database.transaction() as other, world.database.transaction() as connection:
        other.exec_driver_sql(f"SELECT FROM posts WHERE id = '{first.id}' FOR UPDATE")
        assert Sending(connection).put_off_page(page.id, 7200) == 1
    assert world.state(second.id).out_at > world.state(first.id).out_at + timedelta(minutes=60)


def test_a_wait_of_odd_length_ends_on_a_whole_millisecond_and_no_sooner(
    world: World, platform: FakePlatform
) -> None:
    world.fill(world.page("LN"), 3)
    world.shift(3600)
    platform.script = [PlatformRefusal(Refusal.RATE_LIMITED, "429", "slow down", wait_seconds=1800.000345)]
    before = world.now()
    world.send()
    ends = [row.out_at for row in world.ask("SELECT out_at FROM posts")]
    assert [at.microsecond % 1000 for at in ends] == [0] * 3
    assert min(ends) > before + timedelta(seconds=1800)


def test_a_limit_of_metas_without_a_told_wait_costs_one_call_and_no_post(
    world: World, platform: FakePlatform
) -> None:
    world.fill(world.page(), 3)
    world.shift(3600)
    platform.script = [refusal_from({"code": 32}, {}) for _ in range(20)]
    for _ in range(5):
        world.send()
        world.shift(300)
    assert len(platform.script) == 19
    assert {row.state for row in world.ask("SELECT state FROM posts")} == {"queued"}


def test_a_limit_that_lasts_a_day_is_outlasted(world: World, platform: FakePlatform) -> None:
    page = world.page()
    world.fill(page, 2)
    world.shift(3600)
    limit = refusal_from({"code": 9, "error_subcode": 2207042}, {})
    platform.script = [limit] * 3
    began = world.now()
    for _ in range(3):
        world.send()
        world.shift(limit.wait_seconds)
    assert 23 * 3_600 < (world.now() - began).total_seconds() < 24 * 3_600
    world.send()
    assert platform.messages == [f"{page.id} {n}" for n in range(2)]


def test_a_post_waiting_for_a_retry_does_not_hold_up_the_next(world: World, platform: FakePlatform) -> None:
    page = world.page()
    world.fill(page, 2)
    world.shift(3600)
    platform.script = [PlatformRefusal(Refusal.TRANSIENT, "2", "try later")]
    world.send()
    assert platform.messages == [f"{page.id} 1"]


def test_a_manual_retry_has_a_fresh_budget(world: World, app: SendingContext, platform: FakePlatform) -> None:
    post = world.due_post()
    platform.script = [
        PlatformRefusal(Refusal.REJECTED, "100", "no"),
        PlatformRefusal(Refusal.TRANSIENT, "2", "later"),
    ]
    world.send()
    assert world.state(post.id).state == "failed"
    again = retry.retry(app, world.caller(), api.PostId(id=post.id))
    assert (again.status, again.scheduled_at) == ("queued", post.scheduled_at)
    world.send()
    assert (world.state(post.id).state, world.state(post.id).attempts) == ("queued", 2)
    world.shift(60)
    world.send()
    assert world.state(post.id).state == "published"


def test_a_permanent_refusal_fails_at_once_whatever_the_platform_says(
    world: World, platform: FakePlatform
) -> None:
    post = world.due_post()
    platform.script = [PlatformRefusal(Refusal.REJECTED, "100", "bad\0 text \ud800")]
    world.send()
    assert (world.state(post.id).state, world.state(post.id).attempts) == ("failed", 1)
    assert world.events() == ["post.failed"]


def test_an_expired_page_fails_its_due_posts_and_is_marked(world: World, platform: FakePlatform) -> None:
    world.fill(world.page(), 3)
    world.shift(3600)
    platform.script = [PlatformRefusal(Refusal.EXPIRED, "190", "expired")]
    world.send()
    failed = world.ask("SELECT error_code, error_message FROM posts")
    assert [row.error_code for row in failed] == ["PAGE_EXPIRED"] * 3
    assert all("Reconnect the page, then retry the post." in row.error_message for row in failed)
    assert max(row.error_message for row in failed).startswith("expired (190). ")
    assert world.ask("SELECT expired FROM pages")[0].expired
    assert platform.posts == []
    assert len(world.ask("SELECT * FROM attempts")) == 1
    assert world.events() == ["page.expired", *["post.failed"] * 3]


def test_a_post_found_due_more_than_a_day_late_is_not_sent(world: World, platform: FakePlatform) -> None:
    page = world.page()
    early, late = world.fill(page, 2)
    world.run("UPDATE posts SET out_at = clock_now() - interval '25 hours' WHERE id = :id", id=early.id)
    world.run("UPDATE posts SET out_at = clock_now() - interval '23 hours' WHERE id = :id", id=late.id)
    world.send()
    assert platform.messages == [f"{page.id} 1"]
    assert world.state(early.id).error_code == "PUBLISH_WINDOW_MISSED"
    assert "Retry the post to send it now" in world.state(early.id).error_message
    assert sorted(world.events()) == ["post.failed", "post.published"]


def test_what_breaks_a_cap_is_put_off_until_it_fits_and_keeps_its_order(
    world: World, platform: FakePlatform
) -> None:
    page = world.page()
    world.fill(page, 10)
    extra = [world.schedule(page, world.in_minutes(75 + n), f"{page.id} {10 + n}") for n in range(2)]
    world.shift(3 * 3600)
    world.send()
    assert len(platform.posts) == 10
    waits = [(world.state(post.id).out_at - world.now()).total_seconds() for post in extra]
    assert all(3590 < wait <= 3600 for wait in waits)
    assert waits[0] <= waits[1]
    world.shift(3590)
    world.send()
    assert len(platform.posts) == 10
    world.shift(20)
    world.send()
    assert platform.messages == [f"{page.id} {n}" for n in range(12)]


def test_a_worker_that_lost_its_claim_records_nothing_and_begins_nothing(
    world: World, app: SendingContext
) -> None:
    world.fill(world.page(), 2)
    world.shift(3600)
    [(_, claimed)], _ = due_posts.claim_queues(app, 1)
    world.lapse()
    assert world.recover() == 2
    assert {row.state for row in world.ask("SELECT state FROM posts")} == {"queued"}
    old = Claim(claimed[0].id, claimed[0].fence)
    outcome = AttemptOutcome(
        id=old.id, fence=old.fence, state="published", outcome="published", remote_id="r"
    )
    assert app.outcomes.write(outcome, old) == (None, False)
    assert world.state(old.id).state == "queued"
    assert world.ask("SELECT * FROM attempts") == []


def test_a_checkpoint_is_refused_once_the_claim_is_lost(world: World, platform: FakePlatform) -> None:
    post = world.due_post()

    def lose_claim(message: str) -> None:
        world.lapse()
        world.recover()

    platform.before, platform.trusts_checkpoint = lose_claim, True
    world.send()
    assert platform.posts == []
    assert (world.state(post.id).state, world.state(post.id).checkpoint) == ("unknown", None)


def test_a_claim_holds_as_long_as_its_worker_is_renewed(world: World, app: SendingContext) -> None:
    post = world.due_post()
    due_posts.claim_queues(app, 1)
    for _ in range(3):
        world.lapse()
        app.lease.renew()
        assert world.recover() == 0
    assert world.state(post.id).state == "sending"
    assert len(world.ask("SELECT id FROM workers WHERE id = :id", id=app.lease.worker_id)) == 1


def test_claims_of_the_release_before_lapse_by_their_own_lease(world: World, app: SendingContext) -> None:
    page = world.page()
    old, renewed = world.fill(page, 2)
    world.shift(3600)
    for post, lease in ((old, "-1 second"), (renewed, "20 seconds")):
        world.run(
            "UPDATE posts SET state = 'sending', fence = fence + 1,"
            f" lease_until = clock_timestamp() + interval '{lease}' WHERE id = :id",
            id=post.id,
        )
    assert claim_recovery.recover_claims(app) == 1
    assert (world.state(old.id).state, world.state(renewed.id).state) == ("queued", "sending")


def test_the_release_before_lapses_no_claim_of_a_worker(world: World, app: SendingContext) -> None:
    world.due_post()
    due_posts.claim_queues(app, 1)
    world.run("UPDATE workers SET lease_until = clock_timestamp() - interval '1 hour'")
    assert (
        world.ask("SELECT id FROM posts WHERE state = 'sending' AND lease_until <= clock_timestamp()") == []
    )


def test_claims_of_a_commit_whose_answer_was_lost_are_found_again(
    world: World, app: SendingContext, platform: FakePlatform, lose_commit: Callable[[], None]
) -> None:
    post = world.due_post()
    lose_commit()
    with pytest.raises(ApiError):
        due_posts.claim_queues(app, 1)
    assert world.state(post.id).state == "sending"
    assert claim_recovery.recover_lost_claims(app) == 1
    world.send()
    assert len(platform.posts) == 1


def test_an_outcome_outlasts_an_outage_that_is_longer_than_the_lease(
    world: World, app: SendingContext, platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease passes meanwhile, is renewed when the database is back, and nothing has to be looked up."""
    post = world.due_post()
    [(page, claimed)], _ = due_posts.claim_queues(app, 1)
    passed = [0.0]
    transaction = app.database.transaction

    def away() -> Any:
        if passed[0] < app.settings.lease_seconds + 25:
            raise ApiError(SERVICE_UNAVAILABLE)
        world.run("UPDATE workers SET lease_until = clock_timestamp()")
        app.lease.renew()
        monkeypatch.setattr(world.database, "transaction", transaction)
        return transaction()

    def wait(seconds: float) -> None:
        passed[0] += 5

    monkeypatch.setattr(
        "publishing.sending.outcome_writer.time", SimpleNamespace(monotonic=lambda: passed[0], sleep=wait)
    )

    def begin_outage(message: str) -> None:
        monkeypatch.setattr(world.database, "transaction", away)

    def run(statement: str) -> None:
        with transaction() as connection:
            connection.exec_driver_sql(statement)

    monkeypatch.setattr(world, "run", run)
    platform.before = begin_outage
    due_posts.send_queue(app, page, claimed)
    assert world.recover() == 0
    assert (world.state(post.id).state, platform.looks) == ("published", 0)


def test_a_claim_whose_work_goes_on_is_not_lost_sight_of(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    post = world.due_post()
    found: list[int] = []
    platform.before = lambda message: found.append(claim_recovery.recover_lost_claims(app))
    world.send()
    assert (found, world.state(post.id).state) == ([0], "published")


def test_a_claim_whose_work_ended_without_an_outcome_is_looked_up(
    world: World, app: SendingContext, platform: FakePlatform, monkeypatch: Any
) -> None:
    post = world.due_post()
    [(page, claimed)], _ = due_posts.claim_queues(app, 1)
    monkeypatch.setattr(due_posts, "deliver", _broken)
    with pytest.raises(ZeroDivisionError):
        due_posts.send_queue(app, page, claimed)
    assert claim_recovery.recover_lost_claims(app) == 1
    assert (world.state(post.id).state, world.state(post.id).attempts) == ("unknown", 1)


def test_a_look_whose_process_died_is_taken_up_by_another(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    post = world.due_post()
    platform.script = [platform.keep(OutcomeUnknown("dropped"))]
    world.send()
    world.lapse()
    tasks = reconciliation._claim(app, 1)
    assert len(tasks) == 1
    world.lapse()
    assert world.recover() == 1
    world.look()
    assert world.state(post.id).state == "published"
    tasks[0]()  # the first process was only frozen
    assert world.events() == ["post.published"]


@pytest.mark.parametrize("frozen", ["between begin and call", "while the call connects"])
def test_a_process_that_was_frozen_for_longer_than_its_lease_sends_nothing(
    world: World, app: SendingContext, platform: FakePlatform, frozen: str
) -> None:
    post = world.due_post()

    def freeze() -> None:
        now = app.lease._now() + app.settings.lease_seconds
        app.lease._now = lambda: now

    def publish(account: Any, content: Any, checkpoint: Any) -> Any:
        if frozen == "while the call connects":
            permission.check()
        freeze()
        permission.check()
        raise AssertionError("sent")

    platform.publish = publish
    world.send()
    assert (world.state(post.id).state, world.state(post.id).attempts) == ("unknown", 1)


def test_a_begin_that_is_committed_late_is_seen_by_who_lapses_the_claim(
    world: World, app: SendingContext
) -> None:
    """Begun while the lease held, committed when another process lapses it already: unknown, never queued again."""
    post = world.due_post()
    [(_, [claimed])], _ = due_posts.claim_queues(app, 1)
    with world.database.transaction() as connection:
        assert Sending(connection).begin([Claim(claimed.id, claimed.fence)]) == {post.id}
        world.lapse()
        assert world.recover() == 0
    assert world.recover() == 1
    assert (world.state(post.id).state, world.state(post.id).attempts) == ("unknown", 1)


def test_a_lapsed_worker_begins_nothing(world: World, app: SendingContext) -> None:
    world.due_post()
    [(_, [claimed])], _ = due_posts.claim_queues(app, 1)
    world.lapse()
    assert app.outcomes.write(begin=Claim(claimed.id, claimed.fence)) == (None, False)
    app.lease.renew()
    assert app.outcomes.write(begin=Claim(claimed.id, claimed.fence)) == (None, True)


def test_a_process_that_died_in_the_middle_of_a_call_leaves_a_post_that_is_looked_up(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    post = world.due_post(message="died")
    [(_, [claimed])], _ = due_posts.claim_queues(app, 1)
    assert app.outcomes.write(begin=Claim(claimed.id, claimed.fence)) == (None, True)
    platform.posts.append(("r1", "died"))  # the platform took it; then the process died
    world.lapse()
    assert world.recover() == 1
    world.send()
    assert platform.posts == [("r1", "died")]
    world.look()
    row = world.state(post.id)
    assert (row.state, row.remote_id, row.attempts) == ("published", "r1", 1)
    assert world.events() == ["post.published"]


def test_an_unknown_outcome_is_looked_up_and_not_sent_again(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    post = world.due_post()
    platform.script = [platform.keep(OutcomeUnknown("dropped"))]
    world.send()
    assert world.state(post.id).state == "unknown"
    assert due_posts.publish_due_posts(app) == 0
    world.look()
    row = world.state(post.id)
    assert (row.state, row.remote_id) == ("published", platform.posts[0][0])
    assert len(platform.posts) == 1
    assert world.events() == ["post.published"]


def test_an_unknown_outcome_is_looked_up_in_time_while_its_lane_goes_on(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    first, _ = world.fill(world.page(), 2)
    world.shift(3600)
    platform.script = [OutcomeUnknown("dropped")]
    platform.before = lambda message: app.lease.renew()
    world.send()
    assert platform.messages == [f"{first.page_id} 1"]
    [look] = world.ask("SELECT lease_until - clock_timestamp() AS wait FROM posts WHERE state = 'unknown'")
    assert look.wait.total_seconds() <= app.settings.reconcile_first_seconds


def test_not_found_is_believed_only_after_the_settling_time(world: World, platform: FakePlatform) -> None:
    post = world.due_post()
    platform.script = [OutcomeUnknown("never arrived")]
    world.send()
    world.look(after_seconds=80)
    assert world.state(post.id).state == "unknown"
    world.look(after_seconds=90)
    row = world.state(post.id)
    assert (row.state, row.attempts) == ("queued", 1)
    assert world.ask("SELECT outcome FROM attempts")[0].outcome == "not_published"
    world.send()  # the minute after the first attempt has long passed
    assert (world.state(post.id).state, world.state(post.id).attempts) == ("published", 2)
    assert len(platform.posts) == 1


def test_two_posts_with_the_same_words_are_not_taken_for_each_other(
    world: World, platform: FakePlatform
) -> None:
    page = world.page()
    at = world.in_minutes(11)
    first = world.schedule(page, at, "same words")
    second = world.schedule(page, at + timedelta(minutes=1), "same words")
    world.shift(3600)
    platform.script = [OutcomeUnknown("never arrived")]
    world.send()
    assert (world.state(first.id).state, world.state(second.id).state) == ("unknown", "published")
    world.look()
    assert world.state(first.id).state == "unknown"


def test_what_a_look_finds_is_left_alone_while_its_twin_is_on_its_way(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    page = world.page()
    at = world.in_minutes(11)
    first = world.schedule(page, at, "same words")
    world.schedule(page, at + timedelta(minutes=1), "same words")
    world.shift(3600)
    [(_, [one, two])], _ = due_posts.claim_queues(app, 1)
    app.outcomes.write(begin=Claim(one.id, one.fence))
    unknown = AttemptOutcome(id=one.id, fence=one.fence, state="unknown", outcome=None, wait_seconds=5)
    app.outcomes.write(unknown, Claim(two.id, two.fence))
    platform.posts.append(("of the second", "same words"))
    world.look()
    assert world.state(first.id).state == "unknown"


def test_a_post_on_its_way_can_be_neither_cancelled_nor_edited(world: World, app: SendingContext) -> None:
    post = world.due_post()
    due_posts.claim_queues(app, 1)
    for change in (
        lambda: cancellation.cancel(app, world.caller(), api.PostId(id=post.id)),
        lambda: edits.edit(app, world.caller(), api.EditPost(id=post.id, message="new")),
        lambda: retry.retry(app, world.caller(), api.PostId(id=post.id)),
    ):
        with pytest.raises(ApiError) as refusal:
            change()
        assert refusal.value.code == "POST_IN_PROGRESS"


def _broken(*args: Any) -> Any:
    return 1 / 0
