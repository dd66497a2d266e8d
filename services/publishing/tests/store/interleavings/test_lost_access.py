"""A maker loses access while a post is being sent: the post is published once or held, and no attempt begins
afterwards.
"""

import random
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace
from publishing_kit.stage import Stage

from chassis.bus import inbox
from chassis.ids import new_id
from contracts import publishing as api
from contracts.errors import ApiError
from contracts.events import AccessRevoked, Event
from publishing.pages import unlinking
from publishing.platforms.base import OutcomeUnknown, PlatformRefusal, Refusal
from publishing.posts import access_loss, held_posts, retry, schedule
from publishing.sending import claim_recovery
from testkit.interleaving import Process, Try, explore


class Removal:
    """Delivers the event that a token has lost access, and runs the worker until it has dealt with the page's posts.
    Then counts their attempts.
    """

    def __init__(self, stage: Stage, process: Process, page: api.Page, token_id: str) -> None:
        self._stage, self._app, self._page = stage, stage.app(process), page
        data = AccessRevoked(reason="token_revoked", token_ids=(token_id,))
        self._event = Event(
            id=new_id("evt"),
            event="access.revoked",
            created_at=datetime.now(UTC),
            account_id=stage.world.caller().account_id,
            data=msgspec.to_builtins(data),
        )
        self.attempts: int | None = None

    def __call__(self) -> None:
        self.arrive(self._app)
        while not self._has_found():
            self._look(self._app)
        self.attempts = self.count_attempts()

    def arrive(self, app: Any) -> None:
        """Delivers the event. Its second delivery has no effect."""
        with app.database.transaction() as connection:
            if inbox.record(connection, self._event.id):
                access_loss.on_access_revoked(connection, self._event)

    def arrive_again(self) -> None:
        self.arrive(self._stage.world.app)
        self._look(self._stage.world.app)

    def _look(self, app: Any) -> None:
        """Runs the worker that holds posts until it has nothing to do. It may also hold posts that other runs have
        made.
        """
        self._stage.world.run(
            "UPDATE post_holds SET wake_at = clock_timestamp() WHERE id = :id", id=self._event.id
        )
        while access_loss.hold_posts(app):
            pass

    def _has_found(self) -> bool:
        return all(row.held_at is not None or row.state in ENDED for row in self._stage.posts(self._page))

    def count_attempts(self) -> int:
        ids = [row.id for row in self._stage.posts(self._page)]
        return len(self._stage.world.ask("SELECT FROM attempts WHERE post_id = ANY(:ids)", ids=ids))


ENDED = ("published", "failed", "cancelled")


def events(stage: Stage, page: api.Page) -> list[str]:
    """Returns the ids of the page's posts that are named by events `posts.held`."""
    rows = stage.world.ask("SELECT body FROM outbox WHERE event = 'posts.held' ORDER BY position")
    named = [one for row in rows for one in msgspec.json.decode(bytes(row.body), type=Event).data["postIds"]]  # type: ignore[attr-defined]
    own = {row.id for row in stage.posts(page)}
    return [one for one in named if one in own]


def test_a_due_post_goes_out_once_or_is_held_and_begins_no_attempt_afterwards(
    stage: Stage, seeds: range
) -> None:
    names = ("first", "second", "third", "removal")
    first, second, third, remover = (stage.interleaver.process(name) for name in names)

    def example(seed: int) -> None:
        draw, platform = random.Random(seed), stage.platform
        page, token = stage.brand_page(), new_id("tok")
        guest = replace(stage.world.caller(), token_id=token)
        stage.make_due(page, "hello", caller=guest)
        not_now = PlatformRefusal(Refusal.TRANSIENT, "1", "later")
        problems = (not_now, OutcomeUnknown("lost"), platform.keep(OutcomeUnknown("lost")))
        platform.script = [draw.choice(problems) for _ in range(draw.randrange(3))]
        removal, worker = Removal(stage, remover, page, token), stage.app(first)
        stage.interleaver.run(
            seed,
            Try("first", first, partial(stage.send_due, first, worker)),
            Try("first looks for lost claims", first, partial(claim_recovery.recover_lost_claims, worker)),
            Try("second", second, partial(stage.send_due, second)),
            Try("third", third, partial(stage.recover, third)),
            Try("removal", remover, removal),
            stage.leases_end(),
            stage.looks_come(),
            most_cuts=2,
        )
        platform.script = []
        removal.arrive_again()
        stage.settle(page)
        [row] = stage.posts(page)
        posted = stage.posted(page)
        found = f"{row.state}, {posted}, {events(stage, page)}"
        assert row.state in ("published", "held"), found
        assert len(posted) == (row.state == "published"), found
        assert events(stage, page) == ([row.id] if row.state == "held" else []), found
        assert removal.attempts in (None, removal.count_attempts()), found

    explore(stage.interleaver, seeds, example)


def test_a_post_that_is_queued_beside_the_removal_is_held(stage: Stage, seeds: range) -> None:
    names = ("client", "other client", "removal")
    client, other, remover = (stage.interleaver.process(name) for name in names)

    def example(seed: int) -> None:
        page, token = stage.brand_page(), new_id("tok")
        guest = replace(stage.world.caller(), token_id=token)
        failed = stage.make_due(page, "failed", caller=guest)
        stage.world.run("UPDATE posts SET state = 'failed', out_at = NULL WHERE id = :id", id=failed.id)
        request = api.SchedulePost(page_id=page.id, scheduled_at=stage.world.in_minutes(60), message="new")
        removal = Removal(stage, remover, page, token)
        new, again = (replace(guest, operation_id=new_id("op")) for _ in range(2))
        late_retry = partial(retry.retry, stage.app(other), again, api.PostId(id=failed.id))
        run = stage.interleaver.run(
            seed,
            Try("schedule", client, partial(schedule.schedule, stage.app(client), new, request)),
            Try("retry", other, late_retry),
            Try("removal", remover, removal),
            most_cuts=1,
        )
        retried = run["retry"]
        assert retried.error is None or retried.was_killed or isinstance(retried.error, ApiError)
        removal.arrive_again()
        states = {row.message: row.state for row in stage.posts(page)}
        assert states.get("new") in (None, "held"), states
        assert states["failed"] in ("failed", "held"), states
        assert run["schedule"].error is not None or "new" in states

    explore(stage.interleaver, seeds, example)


def test_a_released_post_of_a_page_that_is_unlinked_meanwhile_does_not_stay_queued(
    stage: Stage, seeds: range
) -> None:
    first, second = stage.interleaver.process("first"), stage.interleaver.process("second")

    def example(seed: int) -> None:
        page, token = stage.brand_page(), new_id("tok")
        guest = replace(stage.world.caller(), token_id=token)
        held = [stage.make_due(page, f"post {number}", caller=guest) for number in range(2)]
        Removal(stage, second, page, token)()
        release = api.ReleasePosts(post_ids=tuple(post.id for post in held), past_due="now")
        unlink = api.UnlinkPage(id=page.id, cancel_queued=True)
        run = stage.interleaver.run(
            seed,
            Try(
                "release",
                first,
                partial(held_posts.release, stage.app(first), stage.world.caller(), release),
            ),
            Try("unlink", second, partial(unlinking.unlink, stage.app(second), stage.world.caller(), unlink)),
        )
        states = {row.state for row in stage.posts(page)}
        if run["unlink"].error is None:
            assert states == {"cancelled"}, states
        else:
            assert states <= {"queued", "held", "cancelled"}, states

    explore(stage.interleaver, seeds, example)
