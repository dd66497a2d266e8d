"""The publishing service on the bus: calls, events and worker loops. No rules."""

from functools import partial
from typing import Any

import msgspec

from chassis.db.operations import forget_old
from chassis.service import BusProvider, DatabaseProvider, finish, loop, on_event, rpc
from contracts import publishing as contract
from contracts.caller import Caller
from contracts.events import Event, UnitsUnconfirmed
from contracts.keys import KeysRotated, RotateKeys
from contracts.record import Nothing
from publishing import (
    answering,
    checking,
    comments,
    due,
    editing,
    engagement,
    first_comments,
    held_posts,
    hooks,
    link_consent,
    linking,
    listing,
    lookups,
    lost_access,
    naming,
    pages,
    polling,
    posts,
    publish,
    renewing,
    rotating,
    several,
    subscribing,
    units,
    unlinking,
)
from publishing.house import House, house_of


class PublishingService:
    name = "publishing"
    api = contract.PublishingApi
    database = DatabaseProvider()
    bus = BusProvider()

    @property
    def house(self) -> House:
        return house_of(self.database, self.bus)

    @rpc
    def list_pages(self, caller: Caller, request: contract.ListPages) -> contract.PageList:
        return pages.show_list(self.house, caller, request)

    @rpc
    def get_page(self, caller: Caller, request: contract.GetPage) -> contract.Page:
        return pages.show(self.house, caller, request)

    @rpc
    def count_pages(self, caller: Caller, request: contract.CountPages) -> contract.PageCounts:
        return pages.count(self.house, caller, request)

    @rpc
    def link_page(self, caller: Caller, request: contract.LinkPage) -> contract.Page:
        return pages.link(self.house, caller, request)

    @rpc
    def expire_page(self, caller: Caller, request: contract.GetPage) -> contract.Page:
        return pages.expire(self.house, caller, request)

    @rpc
    def begin_link(self, caller: Caller, request: contract.BeginLink) -> contract.LinkBegun:
        return linking.begin(self.house, caller, request)

    @rpc
    def finish_link(self, caller: Caller, request: contract.FinishLink) -> contract.LinkSession:
        return linking.finish(self.house, request)

    @rpc
    def view_link(self, caller: Caller, request: contract.ViewLink) -> contract.LinkPageView:
        return link_consent.view(self.house, request)

    @rpc
    def decide_link(self, caller: Caller, request: contract.DecideLink) -> contract.LinkPageView:
        return link_consent.decide(self.house, request)

    @rpc
    def get_link(self, caller: Caller, request: contract.GetLink) -> contract.LinkSession:
        return linking.show(self.house, caller, request)

    @rpc
    def choose_accounts(self, caller: Caller, request: contract.ChooseAccounts) -> contract.PagesLinked:
        return linking.choose(self.house, caller, request)

    @rpc
    def check_page(self, caller: Caller, request: contract.GetPage) -> contract.PageHealth:
        with self.house.live_call(caller.account_id):
            return checking.check(self.house, caller, request)

    @rpc
    def unlink_page(self, caller: Caller, request: contract.UnlinkPage) -> contract.PageUnlinked:
        return unlinking.unlink(self.house, caller, request)

    @rpc
    def schedule_post(self, caller: Caller, request: contract.SchedulePost) -> contract.ScheduledPost:
        return posts.schedule(self.house, caller, request)

    @rpc
    def publish_post(self, caller: Caller, request: contract.PublishPost) -> contract.PublishResult:
        return answering.at_platform(
            self.house, caller, partial(publish.publish, self.house, caller, request)
        )

    @rpc
    def schedule_posts(self, caller: Caller, request: contract.SchedulePosts) -> contract.PageResults:
        return several.schedule(self.house, caller, request)

    @rpc
    def publish_posts(self, caller: Caller, request: contract.PublishPosts) -> contract.PageResults:
        return several.publish(self.house, caller, request)

    @rpc
    def validate_post(self, caller: Caller, request: contract.ValidatePost) -> contract.Validation:
        return posts.validate(self.house, caller, request)

    @rpc
    def list_scheduled_posts(
        self, caller: Caller, request: contract.ListScheduledPosts
    ) -> contract.ScheduledPostList:
        return listing.scheduled(self.house, caller, request)

    @rpc
    def get_scheduled_post(self, caller: Caller, request: contract.PostId) -> contract.ScheduledPost:
        return posts.show(self.house, caller, request)

    @rpc
    def edit_post(self, caller: Caller, request: contract.EditPost) -> contract.ScheduledPost:
        return editing.edit(self.house, caller, request)

    @rpc
    def cancel_post(self, caller: Caller, request: contract.PostId) -> contract.Cancelled:
        return posts.cancel(self.house, caller, request)

    @rpc
    def retry_post(self, caller: Caller, request: contract.PostId) -> contract.ScheduledPost:
        return posts.retry(self.house, caller, request)

    @rpc
    def release_held_posts(self, caller: Caller, request: contract.ReleasePosts) -> contract.PostsReleased:
        return held_posts.release(self.house, caller, request)

    @rpc
    def cancel_held_posts(self, caller: Caller, request: contract.HeldPosts) -> contract.HeldPostsCancelled:
        return held_posts.cancel(self.house, caller, request)

    @rpc
    def bring_post_due(self, caller: Caller, request: contract.PostId) -> contract.ScheduledPost:
        return posts.bring_due(self.house, caller, request)

    @rpc
    def list_published_posts(
        self, caller: Caller, request: contract.ListPublishedPosts
    ) -> contract.PublishedPostList:
        return listing.published(self.house, caller, request)

    @rpc
    def get_engagement(self, caller: Caller, request: contract.PostId) -> contract.Engagement:
        with self.house.live_call(caller.account_id):
            return engagement.read(self.house, caller, request)

    @rpc
    def list_comments(self, caller: Caller, request: contract.ListComments) -> contract.CommentList:
        with self.house.live_call(caller.account_id):
            return comments.show_list(self.house, caller, request)

    @rpc
    def reply_to_comment(self, caller: Caller, request: contract.ReplyToComment) -> contract.Reply:
        return answering.at_platform(self.house, caller, partial(comments.reply, self.house, caller, request))

    @rpc
    def verify_hook(self, caller: Caller, request: contract.VerifyHook) -> Nothing:
        return hooks.verify(self.house, request)

    @rpc
    def receive_hook(self, caller: Caller, request: contract.ReceiveHook) -> Nothing:
        return hooks.receive(self.house, request)

    @rpc
    def rotate_keys(self, caller: Caller, request: RotateKeys) -> KeysRotated:
        return rotating.rotate_keys(self.house, caller, request)

    @loop(interval_seconds=0.5)  # with 1 s a hundredth of the posts was more than a second late
    def publish_due_posts(self) -> int:
        return due.publish_due_posts(self.house)

    @loop(interval_seconds=1.0)
    def recover_claims(self) -> int:
        return due.recover_claims(self.house)

    @loop(interval_seconds=10.0)
    def recover_lost_claims(self) -> int:
        return due.recover_lost_claims(self.house)

    @loop(interval_seconds=1.0)
    def look_up_posts(self) -> int:
        return lookups.look_up_posts(self.house)

    @loop(interval_seconds=5.0)
    def name_posts(self) -> int:
        return naming.name_posts(self.house)

    @loop(interval_seconds=1.0)
    def look_up_replies(self) -> int:
        return comments.look_up_replies(self.house)

    @loop(interval_seconds=1.0)
    def send_first_comments(self) -> int:
        return first_comments.send_first_comments(self.house)

    @loop(interval_seconds=polling.TICK_SECONDS)
    def poll_comments(self) -> int:
        return polling.poll_comments(self.house)

    @loop(interval_seconds=1.0)
    def finish_comments(self) -> int:
        return hooks.finish_comments(self.house)

    @loop(interval_seconds=1.0)
    def subscribe_pages(self) -> int:
        return subscribing.subscribe_pages(self.house)

    @loop(interval_seconds=1.0)
    def renew_credentials(self) -> int:
        return renewing.renew_credentials(self.house)

    @on_event("units.unconfirmed")
    def on_units_unconfirmed(self, connection: Any, event: Event) -> None:
        units.confirm(connection, msgspec.convert(event.data, UnitsUnconfirmed))

    @on_event("access.revoked")
    def on_access_revoked(self, connection: Any, event: Event) -> None:
        lost_access.on_access_revoked(connection, event)

    @loop(interval_seconds=1.0)
    def hold_posts(self) -> int:
        return lost_access.hold_posts(self.house)

    @loop(interval_seconds=60.0)
    def forget_links(self) -> int:
        return linking.forget_links(self.house)

    @loop(interval_seconds=60.0)
    def forget_operations(self) -> int:
        return forget_old(self.database)

    @finish
    def finish_calls(self) -> None:
        self.house.finish()
