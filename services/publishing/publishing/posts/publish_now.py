"""Publish at once: claim, call, record; and what a repeat of the same operation gets."""

from functools import partial

from chassis.db.operations import Done, Effect, once
from chassis.ids import new_id
from chassis.runtime.loops import wake
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import PLATFORM_OUTCOME_UNKNOWN, PLATFORM_REJECTED, POST_IN_PROGRESS, ApiError
from publishing import post_events
from publishing.attachments import Attachment
from publishing.context import House
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.posts import guardrail_checks
from publishing.posts.answers import Answer
from publishing.posts.checks import check_connected, check_content, check_page
from publishing.posts.reading import get_post
from publishing.posts.schedule import new_post
from publishing.records import PageRow, Post
from publishing.rules import reach
from publishing.sending.delivery import Delivered, deliver
from publishing.store.pages import Pages
from publishing.store.posts import Posts
from publishing.store.sending import Claim, Sending


def publish(
    house: House,
    caller: Caller,
    request: api.PublishPost,
    answer: Answer | None = None,
) -> api.PublishResult:
    """Publishes now and returns when the platform has answered, whether or not `answer` has been given by then.

    Raises what schedule does without the time's rules, and UNSUPPORTED_PLATFORM, PLATFORM_REJECTED, PAGE_EXPIRED,
    PLATFORM_OUTCOME_UNKNOWN; POST_IN_PROGRESS while the same operation is on its way or being looked up.
    """
    work = partial(_publish, house, caller, request, answer or Answer())
    return once(house.database, caller, work, partial(_repeat, house, caller))


def _publish(house: House, caller: Caller, request: api.PublishPost, answer: Answer) -> api.PublishResult:
    with house.database.reading() as connection:
        found = Pages(connection).get(request.page_id)
        repeated = Posts(connection).of_operation(caller.operation_id)
    page = reach.page(caller, found)
    if repeated is not None and repeated.state != "failed":
        raise Done(repeated.id)
    check_page(house, page)
    check_connected(house, page)
    post_id = new_id("pst") if repeated is None else repeated.id
    revision = 1 if repeated is None else repeated.media_revision + 1
    with Attachment(house, caller, post_id, revision=revision, is_new=repeated is None) as attachment:
        check_content(house, request, page.platform, attachment.attach)
        page, post = _claim(house, caller, request, attachment, answer)
    answer.post_id = post.id
    try:
        delivered = deliver(house, page, post)
        recorded = _record(house, page, delivered, answer)
    finally:
        house.scribe.let_go(Claim(post.id, post.fence))
    return _answer(house, page, post, recorded, delivered)


def _claim(
    house: House, caller: Caller, request: api.PublishPost, attachment: Attachment, answer: Answer
) -> tuple[PageRow, Post]:
    """The post with its attempt written, counted by the guardrails from now on. A failed one is taken up again.

    The page comes as it is by then, with the credentials to be used: from now on it is not unlinked.
    """
    with house.scribe.claiming() as (connection, note):
        store, sending = Posts(connection), Sending(connection)
        around = guardrail_checks.lock_for_publish(store, request.page_id, Effect(caller, attachment.post_id))
        page, now = reach.page(caller, around.page), around.now
        check_page(house, page)
        breach = guardrail_checks.breach_of_publish(store, page, now, around.near)
        if breach is not None:
            raise guardrail_checks.refusal(breach, now)
        is_added = attachment.is_new and store.add(new_post(caller, page, request, attachment, now))
        state = "queued" if is_added else "failed"
        worker_id, left = house.lease.lock(connection), answer.left_seconds
        post = sending.send_at_once(attachment.post_id, state, worker_id, awaited_seconds=left)
        # Another try has it. Raised in here: the operation must not keep an id without a post.
        if post is None:
            raise ApiError(POST_IN_PROGRESS)
        note(Claim(post.id, post.fence))
        if post.media_ids:
            post_events.tell_media(connection, post)
    return page, post


def _record(house: House, page: PageRow, delivered: Delivered, answer: Answer) -> Post | None:
    """The post as it is written down; None when that could not be done, and is left to a look-up.

    While the database is away it goes on for longer than the client waits: whatever it then writes, or finds written,
    it tells of. Raises SERVICE_UNAVAILABLE for what is known not to be published.
    """
    expired = house.found_expired(page, delivered.refusal)
    try:
        return house.scribe.write(delivered.record, expired=expired, more_seconds=answer.left_seconds).post
    except ApiError:
        if delivered.record.state == "failed":
            raise
        return None


def _repeat(house: House, caller: Caller, post_id: str) -> api.PublishResult | None:
    """What the same operation gets again; None for a post that its platform refused: it may be sent again."""
    post = get_post(house, caller, post_id)
    if post.state == "published":
        return post.result_view()
    if post.state == "failed":
        return None
    raise ApiError(POST_IN_PROGRESS, post_id=post.id)


def _answer(
    house: House, page: PageRow, post: Post, recorded: Post | None, delivered: Delivered
) -> api.PublishResult:
    if recorded is not None and recorded.state == "published":
        if recorded.comment_state == "due":
            wake("send_first_comments")
        return recorded.result_view()
    refusal = delivered.refusal
    if recorded is None or refusal is None:
        raise ApiError(PLATFORM_OUTCOME_UNKNOWN, post_id=post.id)
    if refusal.kind is Refusal.EXPIRED:
        raise house.expired(page.id)
    raise rejected(page, refusal)


def rejected(page: PageRow, refusal: PlatformRefusal) -> ApiError:
    """PLATFORM_REJECTED with the platform's own words."""
    platform_error = {"code": refusal.code, "message": refusal.message, "retryable": refusal.retryable}
    return ApiError(PLATFORM_REJECTED, platform=page.platform, platform_error=platform_error)
