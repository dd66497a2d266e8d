"""The publishing service on the bus: calls, events and worker loops. No rules."""

from functools import partial

import msgspec

from chassis.db.operations import forget_old
from chassis.service import BusProvider, DatabaseProvider, finish, loop, on_event, rpc
from contracts import publishing as contract
from contracts.caller import Caller
from contracts.events import Event, UnitsUnconfirmed
from contracts.keys import KeysRotated, RotateKeys
from contracts.platform_checks import CheckPlatform, PlatformReport
from contracts.record import Nothing
from publishing.comments import comment_list, hooks, polls, replies, subscriptions
from publishing.context import COMMENT_DETAILS, DUE_POSTS, FIRST_COMMENTS, RENEWALS, SUBSCRIPTIONS
from publishing.pages import (
    health,
    key_rotation,
    link_consent,
    link_sessions,
    linked_pages,
    page_list,
    platform_check,
    renewal,
    unlinking,
)
from publishing.posts import (
    access_loss,
    answers,
    cancellation,
    edits,
    engagement,
    held_posts,
    post_lists,
    publish_now,
    reading,
    retry,
    schedule,
    several_pages,
    units,
    validation,
)
from publishing.sending import claim_recovery, due_posts, final_ids, first_comments, reconciliation
from publishing.sending.context import SendingContext, context_of
from publishing.store import Connection


class PublishingService:
    name = "publishing"
    api = contract.PublishingApi
    database = DatabaseProvider()
    bus = BusProvider()

    @property
    def app(self) -> SendingContext:
        return context_of(self.database, self.bus)

    @rpc
    def list_pages(self, caller: Caller, request: contract.ListPages) -> contract.PageList:
        return page_list.show_list(self.app, caller, request)

    @rpc
    def get_page(self, caller: Caller, request: contract.GetPage) -> contract.Page:
        return page_list.show(self.app, caller, request)

    @rpc
    def count_pages(self, caller: Caller, request: contract.CountPages) -> contract.PageCounts:
        return page_list.count(self.app, caller, request)

    @rpc
    def link_page(self, caller: Caller, request: contract.LinkPage) -> contract.Page:
        return linked_pages.link(self.app, caller, request)

    @rpc
    def expire_page(self, caller: Caller, request: contract.GetPage) -> contract.Page:
        return linked_pages.expire(self.app, caller, request)

    @rpc
    def begin_link(self, caller: Caller, request: contract.BeginLink) -> contract.LinkBegun:
        return link_sessions.begin(self.app, caller, request)

    @rpc
    def finish_link(self, caller: Caller, request: contract.FinishLink) -> contract.LinkSession:
        return link_sessions.finish(self.app, request)

    @rpc
    def view_link(self, caller: Caller, request: contract.ViewLink) -> contract.LinkPageView:
        return link_consent.view(self.app, request)

    @rpc
    def decide_link(self, caller: Caller, request: contract.DecideLink) -> contract.LinkPageView:
        return link_consent.decide(self.app, request)

    @rpc
    def get_link(self, caller: Caller, request: contract.GetLink) -> contract.LinkSession:
        return link_sessions.show(self.app, caller, request)

    @rpc
    def choose_accounts(self, caller: Caller, request: contract.ChooseAccounts) -> contract.PagesLinked:
        return link_sessions.choose(self.app, caller, request)

    @rpc
    def check_page(self, caller: Caller, request: contract.GetPage) -> contract.PageHealth:
        with self.app.live_call(caller.account_id):
            return health.check(self.app, caller, request)

    @rpc
    def check_platform(self, caller: Caller, request: CheckPlatform) -> PlatformReport:
        with self.app.live_call(caller.account_id):
            return platform_check.check(self.app, caller, request)

    @rpc
    def unlink_page(self, caller: Caller, request: contract.UnlinkPage) -> contract.PageUnlinked:
        return unlinking.unlink(self.app, caller, request)

    @rpc
    def schedule_post(self, caller: Caller, request: contract.SchedulePost) -> contract.ScheduledPost:
        return schedule.schedule(self.app, caller, request)

    @rpc
    def publish_post(self, caller: Caller, request: contract.PublishPost) -> contract.PublishResult:
        return answers.at_platform(self.app, caller, partial(publish_now.publish, self.app, caller, request))

    @rpc
    def schedule_posts(self, caller: Caller, request: contract.SchedulePosts) -> contract.PageResults:
        return several_pages.schedule_on_pages(self.app, caller, request)

    @rpc
    def publish_posts(self, caller: Caller, request: contract.PublishPosts) -> contract.PageResults:
        return several_pages.publish_on_pages(self.app, caller, request)

    @rpc
    def validate_post(self, caller: Caller, request: contract.ValidatePost) -> contract.Validation:
        return validation.validate(self.app, caller, request)

    @rpc
    def list_scheduled_posts(
        self, caller: Caller, request: contract.ListScheduledPosts
    ) -> contract.ScheduledPostList:
        return post_lists.scheduled(self.app, caller, request)

    @rpc
    def get_scheduled_post(self, caller: Caller, request: contract.PostId) -> contract.ScheduledPost:
        return reading.show(self.app, caller, request)

    @rpc
    def edit_post(self, caller: Caller, request: contract.EditPost) -> contract.ScheduledPost:
        return edits.edit(self.app, caller, request)

    @rpc
    def cancel_post(self, caller: Caller, request: contract.PostId) -> contract.Cancelled:
        return cancellation.cancel(self.app, caller, request)

    @rpc
    def retry_post(self, caller: Caller, request: contract.PostId) -> contract.ScheduledPost:
        return retry.retry(self.app, caller, request)

    @rpc
    def release_held_posts(self, caller: Caller, request: contract.ReleasePosts) -> contract.PostsReleased:
        return held_posts.release(self.app, caller, request)

    @rpc
    def cancel_held_posts(self, caller: Caller, request: contract.HeldPosts) -> contract.HeldPostsCancelled:
        return held_posts.cancel(self.app, caller, request)

    @rpc
    def bring_post_due(self, caller: Caller, request: contract.PostId) -> contract.ScheduledPost:
        return retry.bring_due(self.app, caller, request)

    @rpc
    def list_published_posts(
        self, caller: Caller, request: contract.ListPublishedPosts
    ) -> contract.PublishedPostList:
        return post_lists.published(self.app, caller, request)

    @rpc
    def get_engagement(self, caller: Caller, request: contract.PostId) -> contract.Engagement:
        with self.app.live_call(caller.account_id):
            return engagement.read(self.app, caller, request)

    @rpc
    def list_comments(self, caller: Caller, request: contract.ListComments) -> contract.CommentList:
        with self.app.live_call(caller.account_id):
            return comment_list.show_list(self.app, caller, request)

    @rpc
    def reply_to_comment(self, caller: Caller, request: contract.ReplyToComment) -> contract.Reply:
        return answers.at_platform(self.app, caller, partial(replies.reply, self.app, caller, request))

    @rpc
    def verify_hook(self, caller: Caller, request: contract.VerifyHook) -> Nothing:
        return hooks.verify(self.app, request)

    @rpc
    def receive_hook(self, caller: Caller, request: contract.ReceiveHook) -> Nothing:
        return hooks.receive(self.app, request)

    @rpc
    def rotate_keys(self, caller: Caller, request: RotateKeys) -> KeysRotated:
        return key_rotation.rotate_keys(self.app, caller, request)

    # With 1 s a hundredth of the posts was more than a second late.
    @loop(interval_seconds=0.5, woken_by=DUE_POSTS)
    def publish_due_posts(self) -> int:
        return due_posts.publish_due_posts(self.app)

    @loop(interval_seconds=1.0)
    def recover_claims(self) -> int:
        return claim_recovery.recover_claims(self.app)

    @loop(interval_seconds=10.0)
    def recover_lost_claims(self) -> int:
        return claim_recovery.recover_lost_claims(self.app)

    @loop(interval_seconds=1.0)
    def look_up_posts(self) -> int:
        return reconciliation.look_up_posts(self.app)

    @loop(interval_seconds=5.0)
    def name_posts(self) -> int:
        return final_ids.name_posts(self.app)

    @loop(interval_seconds=1.0)
    def look_up_replies(self) -> int:
        return replies.look_up_replies(self.app)

    @loop(interval_seconds=1.0, woken_by=FIRST_COMMENTS)
    def send_first_comments(self) -> int:
        return first_comments.send_first_comments(self.app)

    @loop(interval_seconds=polls.TICK_SECONDS)
    def poll_comments(self) -> int:
        return polls.poll_comments(self.app)

    @loop(interval_seconds=1.0, woken_by=COMMENT_DETAILS)
    def finish_comments(self) -> int:
        return hooks.finish_comments(self.app)

    @loop(interval_seconds=1.0, woken_by=SUBSCRIPTIONS)
    def subscribe_pages(self) -> int:
        return subscriptions.subscribe_pages(self.app)

    @loop(interval_seconds=1.0, woken_by=RENEWALS)
    def renew_credentials(self) -> int:
        return renewal.renew_credentials(self.app)

    @on_event("units.unconfirmed")
    def on_units_unconfirmed(self, connection: Connection, event: Event) -> None:
        units.confirm(connection, msgspec.convert(event.data, UnitsUnconfirmed))

    @on_event("access.revoked")
    def on_access_revoked(self, connection: Connection, event: Event) -> None:
        access_loss.on_access_revoked(connection, event)

    @loop(interval_seconds=1.0)
    def hold_posts(self) -> int:
        return access_loss.hold_posts(self.app)

    @loop(interval_seconds=60.0)
    def forget_links(self) -> int:
        return link_sessions.forget_links(self.app)

    @loop(interval_seconds=60.0)
    def forget_operations(self) -> int:
        return forget_old(self.database)

    @finish
    def finish_calls(self) -> None:
        self.app.finish()
