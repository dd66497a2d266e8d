"""A page with posts of a person who may lose access to it."""

from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from chassis.ids import new_id
from contracts import publishing as api
from contracts.caller import Caller, Maker
from contracts.events import AccessRevoked, Event
from publishing.posts import access_loss, held_posts, reading
from publishing_kit.world import World

GUEST = Maker(user_id="usr_guest", token_id="tok_guest")


class Scene:
    """A page with queued posts of a guest (a collaborator) and of its owner."""

    def __init__(self, world: World) -> None:
        self.world, self.page = world, world.page()

    def guest(self, token_id: str = "tok_guest") -> Caller:
        return replace(
            self.world.caller(), user_id="usr_guest", token_id=token_id, brand_ids=(self.page.brand_id,)
        )

    def owner(self, **fields: Any) -> Caller:
        return replace(self.world.caller(), token_id="tok_owner", **fields)

    def queue(self, caller: Caller | None = None, minutes: float = 30, **fields: Any) -> api.ScheduledPost:
        """Schedules a post of the guest, or of the given caller."""
        fields = {"message": new_id("text")} | fields
        page = fields.pop("page", self.page)
        return self.world.schedule(  # type: ignore[no-any-return]
            page, self.world.in_minutes(minutes), caller=caller or self.guest(), **fields
        )

    def lose_access(
        self, *token_ids: str, reason: str = "collaborator_removed", account: str | None = None
    ) -> None:
        """Delivers the event that these tokens (by default the guest's) have lost access, and runs the worker loop
        that holds their posts.
        """
        data = AccessRevoked(reason=reason, token_ids=token_ids or ("tok_guest", "tok_guest_before"))
        event = Event(
            id=new_id("evt"),
            event="access.revoked",
            created_at=datetime.now(UTC),
            account_id=account or self.owner().account_id,
            data=msgspec.to_builtins(data),
        )
        with self.world.database.transaction() as connection:
            access_loss.on_access_revoked(connection, event)
        self.look()

    def look(self) -> None:
        """Runs the worker loop that holds posts until it has nothing left to do, without waiting for its next time."""
        self.world.run("UPDATE post_holds SET wake_at = clock_timestamp()")
        while access_loss.hold_posts(self.world.app):
            pass

    def state(self, post: api.ScheduledPost) -> str:
        return self.world.state(post.id).state  # type: ignore[no-any-return]

    def shown(self, post: api.ScheduledPost) -> api.ScheduledPost:
        return reading.show(self.world.app, self.owner(), api.PostId(id=post.id))

    def release(self, caller: Caller | None = None, **fields: Any) -> api.PostsReleased:
        request = api.ReleasePosts(**(fields or {"made_by": "anybody"}))
        return held_posts.release(self.world.app, caller or self.owner(), request)

    def cancel(self, caller: Caller | None = None, **fields: Any) -> api.HeldPostsCancelled:
        request = api.HeldPosts(**(fields or {"made_by": "anybody"}))
        return held_posts.cancel(self.world.app, caller or self.owner(), request)

    def told(self, event: str = "posts.held") -> list[dict[str, Any]]:
        rows = self.world.ask("SELECT body FROM outbox WHERE event = :event ORDER BY position", event=event)
        return [msgspec.json.decode(bytes(row.body), type=Event).data for row in rows]
