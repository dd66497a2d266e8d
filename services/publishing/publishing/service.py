"""Connects the service to the bus: calls, events and worker loops. Contains no rules."""

from functools import partial

import msgspec

from chassis.service import (
    BusProvider,
    DatabaseProvider,
    call,
    finish,
    forget_old_operations,
    on_event,
    repeat,
    rpc,
)
from contracts import publishing as contract
from contracts.caller import Caller
from contracts.events import Event, UnitsUnconfirmed
from publishing.comments import comment_list, hooks, polls, read_marks, replies, settlement, subscriptions
from publishing.context import COMMENT_DETAILS, DUE_POSTS, FIRST_COMMENTS, RENEWALS, SUBSCRIPTIONS
from publishing.pages import (
    health,
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
    full_posts,
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

    list_pages = call(page_list.show_list)
    get_page = call(page_list.show)
    count_pages = call(page_list.count)
    link_page = call(linked_pages.link)
    expire_page = call(linked_pages.expire)
    begin_link = call(link_sessions.begin)
    finish_link = call(link_sessions.finish)
    view_link = call(link_consent.view)
    decide_link = call(link_consent.decide)
    get_link = call(link_sessions.show)
    choose_accounts = call(link_sessions.choose)
    check_page = call(health.check, live=True)
    check_platform = call(platform_check.check, live=True)
    unlink_page = call(unlinking.unlink)
    schedule_post = call(schedule.schedule)

    @rpc
    def publish_post(self, caller: Caller, request: contract.PublishPost) -> contract.PublishResult:
        return answers.at_platform(self.app, caller, partial(publish_now.publish, self.app, caller, request))

    report_posts_made_at_once = call(publish_now.report_at_once)
    schedule_posts = call(several_pages.schedule_on_pages)
    publish_posts = call(several_pages.publish_on_pages)
    validate_post = call(validation.validate)
    validate_posts = call(validation.validate_on_pages)
    list_scheduled_posts = call(post_lists.scheduled)
    count_scheduled_posts = call(post_lists.count)
    list_calendar_posts = call(post_lists.calendar)
    get_scheduled_post = call(reading.show)
    get_post = call(full_posts.show)
    list_posts = call(full_posts.show_list)
    find_posts = call(full_posts.find)
    edit_post = call(edits.edit)
    cancel_post = call(cancellation.cancel)
    retry_post = call(retry.retry)
    release_held_posts = call(held_posts.release)
    cancel_held_posts = call(held_posts.cancel)
    bring_post_due = call(retry.bring_due)
    list_published_posts = call(post_lists.published)
    get_engagement = call(engagement.read, live=True)
    list_comments = call(comment_list.show_list, live=True)
    mark_comments_read = call(read_marks.mark)
    settle_comment = call(settlement.settle)
    reopen_comment = call(settlement.reopen)

    @rpc
    def reply_to_comment(self, caller: Caller, request: contract.ReplyToComment) -> contract.Reply:
        return answers.at_platform(self.app, caller, partial(replies.reply, self.app, caller, request))

    verify_hook = call(hooks.verify)
    receive_hook = call(hooks.receive)
    rotate_keys = call(linked_pages.rotate_keys)

    # With 1 s a hundredth of the posts was more than a second late.
    publish_due_posts = repeat(due_posts.publish_due_posts, 0.5, woken_by=DUE_POSTS)
    recover_claims = repeat(claim_recovery.recover_claims, 1.0)
    recover_lost_claims = repeat(claim_recovery.recover_lost_claims, 10.0)
    look_up_posts = repeat(reconciliation.look_up_posts, 1.0)
    name_posts = repeat(final_ids.name_posts, 5.0)
    look_up_replies = repeat(replies.look_up_replies, 1.0)
    send_first_comments = repeat(first_comments.send_first_comments, 2.0, woken_by=FIRST_COMMENTS)
    poll_comments = repeat(polls.poll_comments, polls.TICK_SECONDS)
    finish_comments = repeat(hooks.finish_comments, 2.0, woken_by=COMMENT_DETAILS)
    subscribe_pages = repeat(subscriptions.subscribe_pages, 2.0, woken_by=SUBSCRIPTIONS)
    renew_credentials = repeat(renewal.renew_credentials, 2.0, woken_by=RENEWALS)

    @on_event("units.unconfirmed")
    def on_units_unconfirmed(self, connection: Connection, event: Event) -> None:
        units.confirm(connection, msgspec.convert(event.data, UnitsUnconfirmed))

    @on_event("access.revoked")
    def on_access_revoked(self, connection: Connection, event: Event) -> None:
        access_loss.on_access_revoked(connection, event)

    @on_event("brand.renamed")
    def on_brand_renamed(self, connection: Connection, event: Event) -> None:
        linked_pages.on_brand_renamed(connection, event)

    hold_posts = repeat(access_loss.hold_posts, 1.0)
    forget_links = repeat(link_sessions.forget_links, 60.0)

    forget_operations = forget_old_operations

    @finish
    def finish_calls(self) -> None:
        self.app.finish()
