"""Simulated processes of publishing on one database, whose statements are interleaved. The platform is in the test's
process.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chassis.db import leases
from chassis.db.leases import WorkerLease
from chassis.ids import new_id
from contracts import publishing as api
from contracts.caller import Caller, operator
from contracts.errors import ApiError
from contracts.platforms import PLATFORMS
from publishing.config import Settings
from publishing.pages import linked_pages
from publishing.platforms.base import OutcomeUnknown
from publishing.platforms.http_client import check_permission
from publishing.platforms.registry import connectors, default_settings
from publishing.posts import publish_now
from publishing.posts.answers import Answer
from publishing.sending import claim_recovery, due_posts, reconciliation
from publishing.sending.context import SendingContext
from publishing.store.operations import Left
from publishing_kit.fake_media import FakeMedia
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.played_graph import GraphOf, PlayedGraph
from publishing_kit.world import World
from testkit.interleaving import Ended, Interleaver, Process, Try

#: How a connector looks at the platform: one call each.
_CALLS = ("outcome", "find_comment", "find_reply")
_ELAPSED = leases.elapsed
#: Rounds of all recovery loops after which nothing may be open any more.
_ROUNDS = 8


class AtPlatform:
    """The platform as one simulated process calls it. The process may be killed before and after each call, or another
    one may run.
    """

    def __init__(self, process: Process, platform: FakePlatform) -> None:
        self._process, self._platform = process, platform

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._platform, name)
        return self._process.outside(call, lost=_no_answer) if name in _CALLS else call

    def publish(self, *arguments: Any) -> Any:
        with self._platform.sending:
            return self._visible("publish", *arguments)

    def comment(self, *arguments: Any) -> Any:
        return self._visible("comment", *arguments)

    def reply(self, *arguments: Any) -> Any:
        return self._visible("reply", *arguments)

    def _visible(self, name: str, *arguments: Any) -> Any:
        """Calls a method that publishes something. Checks right before the call that the process may still send, as
        the real HTTP client does.
        """

        def call() -> Any:
            check_permission()
            return getattr(self._platform, name)(*arguments)

        call.__name__ = name
        return self._process.outside(call, lost=_no_answer)()


def _no_answer() -> OutcomeUnknown:
    return OutcomeUnknown("the connection broke")


@dataclass
class Stage:
    """Simulated processes and pages for tests of interleavings, and functions that recover after a run."""

    world: World
    interleaver: Interleaver
    settings: Settings
    media: FakeMedia
    platform: FakePlatform
    #: Ends the claims of workers whose leases have passed. Its own lease never passes.
    reaper: SendingContext
    #: Seconds for which all processes were paused.
    paused_seconds: float = 0.0

    def app(self, process: Process) -> SendingContext:
        """Returns the context of a simulated process that has just started. The run may also interrupt the statements
        that renew its lease.
        """
        connector = self.connector_of(process)
        app = SendingContext(process.database, self.settings, self.media, dict.fromkeys(PLATFORMS, connector))
        seconds, database = self.settings.lease_seconds, process.database
        app.lease = WorkerLease(database, seconds, now=self.elapsed, own=database)
        app.lease.renew()
        return app

    def elapsed(self) -> float:
        """Returns the monotonic time of the processes, which `leases_end` moves forward."""
        return _ELAPSED() + self.paused_seconds

    def connector_of(self, process: Process) -> Any:
        return AtPlatform(process, self.platform)

    def use_graph(self, graph: PlayedGraph, platform: str) -> None:
        """Makes the processes use the real connector of this platform, over the PlayedGraph."""
        made: dict[str, Any] = {}

        def connector_of(process: Process) -> Any:
            if process.name not in made:
                made[process.name] = connector(GraphOf(process, graph))
            return made[process.name]

        def connector(api: Any) -> Any:
            made = connectors(default_settings())[platform]
            made._graph = api  # type: ignore[attr-defined]
            return made

        self.connector_of = connector_of  # type: ignore[method-assign]
        self.world.app.connectors = dict.fromkeys(PLATFORMS, connector(graph))

    def meanwhile(self, name: str, happens: Callable[[], Any]) -> Try:
        """Returns a `Try` that calls `happens` once, at a moment that the seed chooses."""
        return Try(name, self.interleaver.process("meanwhile"), happens, cuts=())

    def leases_end(self) -> Try:
        """Returns a `Try` that ends all leases, as if every process had been paused for longer than its lease."""

        def pause() -> None:
            self.paused_seconds += 2 * self.settings.lease_seconds
            self.world.run("UPDATE workers SET lease_until = clock_timestamp() WHERE reaped_at IS NULL")

        return self.meanwhile("the leases end", pause)

    def looks_come(self) -> Try:
        """Returns a `Try` that makes all look-ups due, as if the settle time had passed."""
        return self.meanwhile("looks are due", self._bring_looks)

    def _bring_looks(self) -> None:
        self.world.run(
            "UPDATE posts SET lease_until = clock_timestamp(),"
            " unknown_since = clock_timestamp() - interval '100 seconds' WHERE state = 'unknown'"
        )

    def publish_picture(self, process: Process, page: api.Page, text: str, picture: str) -> api.PublishResult:
        request = api.PublishPost(page_id=page.id, message=text, media_ids=(picture,))
        return publish_now.publish(self.app(process), self.world.caller(), request)

    def brand_page(self, **fields: Any) -> api.Page:
        """Links a page to a new brand, so that the posts of other runs do not count for the brand's guardrails."""
        return self.world.page(brand=new_id("brd"), **fields)  # type: ignore[no-any-return]

    def connect_again(self, page: api.Page) -> api.Page:
        """Links the page's account of the platform to another brand too."""
        request = api.LinkPage(
            owner_account_id=self.world.caller().account_id,
            brand_id=new_id("brd"),
            brand_name="Other brand",
            platform=page.platform,
            remote_account_id=page.account_id,
            access_token="token",
            name="Page",
        )
        return linked_pages.link(self.world.app, operator(), request)

    def make_due(
        self, page: api.Page, message: str, number: int | None = None, **fields: Any
    ) -> api.ScheduledPost:
        """Schedules a post and makes it due. A page's posts are due in the order of these calls, or of `number`."""
        number = len(self.posts(page)) if number is None else number
        post = self.world.schedule(page, self.world.in_minutes(11 + 2 * number), message, **fields)
        self.world.run("UPDATE posts SET out_at = clock_now() WHERE id = :id", id=post.id)
        return post  # type: ignore[no-any-return]

    def expire(self, page: api.Page) -> None:
        self.world.run("UPDATE pages SET expired = true WHERE id = :id", id=page.id)

    def send_due(self, process: Process, app: SendingContext | None = None) -> None:
        """Claims due posts once for a process, and sends them, one page after the other."""
        app = app or self.app(process)
        claimed, _ = due_posts.claim_queues(app, 8)
        for page, posts in claimed:
            due_posts.send_queue(app, page, posts)

    def recover(self, process: Process) -> None:
        """Runs once each worker loop that continues the work of dead processes, look-ups included."""
        app = self.app(process)
        claim_recovery.recover_claims(app)
        for look in reconciliation._claim(app, 8):
            look()

    def recover_all(self) -> None:
        """Continues the work of all processes after a run, as if all leases and settle times had passed. Does not send
        posts that wait for a later time.
        """
        self.reap_all()
        self.world.look(after_seconds=100)
        self.world.send()

    def reap_all(self) -> None:
        """Ends all claims of the run's processes, as if all of them were dead."""
        self.world.lapse()
        self.reaper.lease.renew()
        claim_recovery.recover_claims(self.reaper)
        while self.world.ask("SELECT FROM workers WHERE reaped_at IS NOT NULL LIMIT 1"):
            claim_recovery.recover_claims(self.reaper)

    def posted(self, page: api.Page) -> list[str]:
        """Returns the texts of the page's posts on the platform, in the order of their publication."""
        return [
            text for remote_id, text in self.platform.posts if remote_id.startswith(f"{page.account_id}_")
        ]

    def posts(self, page: api.Page) -> list[Any]:
        return self.world.ask("SELECT * FROM posts WHERE page_id = :page ORDER BY id", page=page.id)  # type: ignore[no-any-return]

    def told(self, page: api.Page, *, immediate_posts: bool = False) -> list[str]:
        """Returns the names of the events about the page's posts and their units that a subscription gets, with or
        without the option `immediate_posts`.
        """
        rows = self.world.ask(
            "SELECT event FROM outbox WHERE convert_from(body, 'UTF8')::json ->> 'audience' IN ('', :audience) AND ("
            "convert_from(body, 'UTF8')::json -> 'data' -> 'post' ->> 'page_id' = :page"
            " OR convert_from(body, 'UTF8')::json -> 'data' ->> 'operation_id' IN"
            " (SELECT operation_id FROM posts WHERE page_id = :page)) ORDER BY position",
            page=page.id,
            audience="immediate" if immediate_posts else "others",
        )
        return [row.event for row in rows]

    def settle(self, *pages: api.Page) -> None:
        """Lets time pass and runs the worker loops, until no post of these pages is queued, being sent or unknown.
        Fails the test if that does not happen.
        """
        ids = [page.id for page in pages]
        for _ in range(_ROUNDS):
            self.reap_all()
            self.world.look(after_seconds=100)
            self.world.run(
                "UPDATE posts SET out_at = clock_now() WHERE page_id = ANY(:ids) AND state = 'queued'",
                ids=ids,
            )
            self.world.send()
            if not self.world.ask(
                "SELECT FROM posts WHERE page_id = ANY(:ids) AND state IN ('queued', 'sending', 'unknown') LIMIT 1",
                ids=ids,
            ):
                return
        self.world.look(after_seconds=100_000)  # so long that publishing gives up look-ups
        if not self.world.ask(
            "SELECT FROM posts WHERE page_id = ANY(:ids) AND state IN ('queued', 'sending', 'unknown') LIMIT 1",
            ids=ids,
        ):
            return
        raise AssertionError(
            f"still open after all: {[row.state for page in pages for row in self.posts(page)]}"
        )

    def publishing(
        self, app: SendingContext, page: api.Page, caller: Caller, message: str, answer: Answer
    ) -> api.PublishResult:
        return publish_now.publish(app, caller, api.PublishPost(page_id=page.id, message=message), answer)


class Client:
    """A client that waits for the answer to a publish at once, and may stop waiting at any moment, as `answering.run`
    does.
    """

    def __init__(self, leave: Callable[[], Left]) -> None:
        self.answer = Answer()
        self._leave = leave
        self._has_ended = False
        self._heard: str | None = None

    def waits_for(self, part: Callable[[], Any]) -> Callable[[], Any]:
        def ended() -> Any:
            try:
                return part()
            finally:
                self._has_ended = True

        return ended

    def stop_waiting(self) -> None:
        """Stops waiting, unless the outcome is stored already: the client then still gets the outcome."""
        if self._has_ended:
            return
        left = self._leave()
        if not left.is_begun:
            self._heard = "nothing"
        elif left.post_id is not None:
            self._heard = "unknown"

    def heard(self, part: Ended) -> str:
        """Returns what the client knows: `published`, `refused`, `unknown`, or `nothing` if it got no answer or one
        that does not tell the outcome.
        """
        if self._heard is not None:
            return self._heard
        if part.was_killed:
            return "nothing"
        return "published" if part.error is None else _meaning(part.error)


def _meaning(error: BaseException) -> str:
    if not isinstance(error, ApiError):
        raise error
    if error.code == "PLATFORM_OUTCOME_UNKNOWN":
        return "unknown"
    return "nothing" if error.code in ("SERVICE_UNAVAILABLE", "POST_IN_PROGRESS") else "refused"
