"""Claims of processes that died, were paused or lost the database."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from publishing.platforms.base import OutcomeUnknown
from publishing.platforms.http_client import check_permission
from publishing.sending import claim_recovery, due_posts, reconciliation
from publishing.sending.context import SendingContext
from publishing.store.sending import AttemptOutcome, Claim, Sending


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
    """The lease ends during the outage, and the process renews it when the database is back. So nothing has to be
    looked up.
    """
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


def test_a_claim_whose_work_goes_on_is_kept(
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


def test_a_look_up_whose_process_died_is_continued_by_another(
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
        now = app.lease.now() + app.settings.lease_seconds
        app.lease.now = lambda: now

    def publish(account: Any, content: Any, checkpoint: Any) -> Any:
        if frozen == "while the call connects":
            check_permission()
        freeze()
        check_permission()
        raise AssertionError("sent")

    platform.publish = publish
    world.send()
    assert (world.state(post.id).state, world.state(post.id).attempts) == ("unknown", 1)


def test_a_begin_committed_late_is_seen_by_the_process_that_ends_the_claim(
    world: World, app: SendingContext
) -> None:
    """The attempt began while the lease held, but was committed when another process was ending the claim. The post
    becomes unknown and is not queued again.
    """
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


def _broken(*args: Any) -> Any:
    return 1 / 0
