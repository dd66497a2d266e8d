"""Publish at once: claim, call, record; and what a repeat of the same operation gets."""

from chassis import clock
from chassis.ids import new_id
from chassis.loops import wake
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import PLATFORM_OUTCOME_UNKNOWN, PLATFORM_REJECTED, POST_IN_PROGRESS, ApiError
from publishing import limiting, reach, telling
from publishing.answering import Answer
from publishing.attachments import Attachment
from publishing.delivery import ClaimLost, Delivered, deliver
from publishing.house import House
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.posts import check_connected, check_content, check_page, new_post
from publishing.records import PageRow, Post
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
    with house.database.reading() as connection:
        found = Pages(connection).get(request.page_id)
        repeated = Posts(connection).of_operation(caller.operation_id)
    page = reach.page(caller, found)
    if repeated is not None and repeated.state != "failed":
        return _repeat(repeated)
    check_page(house, page)
    check_connected(house, page)
    post_id = new_id("pst") if repeated is None else repeated.id
    answer = answer or Answer()
    revision = 1 if repeated is None else repeated.media_revision + 1
    with Attachment(house, caller, post_id, revision=revision, is_new=repeated is None) as attachment:
        check_content(house, request, page.platform, attachment.attach)
        answer.concerns(post_id)
        post = _claim(house, caller, page, request, attachment)
        attachment.kept_by(post)
    if post.state == "published":
        return post.result_view()
    claim = Claim(post.id, post.fence)
    house.scribe.hold(claim)
    try:
        delivered = deliver(house, page, post)
        recorded = _record(house, page, delivered, answer)
    except ClaimLost:
        recorded, delivered = None, None
    finally:
        house.scribe.let_go(claim)
    return _answer(house, page, post, recorded, delivered)


def _claim(
    house: House, caller: Caller, page: PageRow, request: api.PublishPost, attachment: Attachment
) -> Post:
    """The post with its attempt written, counted by the guardrails from now on. A failed one is taken up again."""
    with house.database.transaction() as connection:
        store, sending = Posts(connection), Sending(connection)
        now = clock.now(connection)
        breach, repeated_id = limiting.breach_of_publish(store, page, now, operation_id=caller.operation_id)
        earlier = store.get(repeated_id) if repeated_id else None
        if earlier is not None and earlier.state != "failed":
            _repeat(earlier)
            return earlier
        if earlier is not None and earlier.id != attachment.post_id and attachment.files:
            raise ApiError(
                POST_IN_PROGRESS
            )  # made and refused since we looked: the files are attached to no post
        if earlier is not None:
            breach, _ = limiting.breach_of_publish(store, page, now)
        if breach is not None:
            raise limiting.refusal(breach, now)
        if earlier is None:
            earlier = store.add(new_post(caller, page, request, attachment, now))
        post = (
            sending.send_at_once(earlier.id, earlier.state, house.settings.lease_seconds) if earlier else None
        )
        if post is not None and post.media_ids:
            telling.tell_media(connection, post)
    if post is None:
        raise ApiError(POST_IN_PROGRESS)
    return post


def _record(house: House, page: PageRow, delivered: Delivered, answer: Answer) -> Post | None:
    """The post as it is written down; None when that could not be done, and is left to a look-up.

    Raises SERVICE_UNAVAILABLE for what is known not to be published.
    """
    expired = house.found_expired(page, delivered.refusal)
    try:
        recorded, _ = house.scribe.write(delivered.record, expired=expired, is_answered=answer.is_given)
    except ApiError:
        if delivered.record.state == "failed":
            raise
        return None
    if answer.came_first() and recorded is not None:
        with house.database.transaction() as connection:
            telling.tell(connection, [recorded], after_answer=True)
    return recorded


def _repeat(post: Post) -> api.PublishResult:
    """What the same operation gets for a post that has not failed."""
    if post.state == "published":
        return post.result_view()
    raise ApiError(POST_IN_PROGRESS, post_id=post.id)


def _answer(
    house: House, page: PageRow, post: Post, recorded: Post | None, delivered: Delivered | None
) -> api.PublishResult:
    if recorded is not None and recorded.state == "published":
        if recorded.comment_state == "due":
            wake("send_first_comments")
        return recorded.result_view()
    refusal = delivered.refusal if delivered is not None else None
    if recorded is None or refusal is None:
        raise ApiError(PLATFORM_OUTCOME_UNKNOWN, post_id=post.id)
    if refusal.kind is Refusal.EXPIRED:
        raise house.expired(page.id)
    raise rejected(page, refusal)


def rejected(page: PageRow, refusal: PlatformRefusal) -> ApiError:
    """PLATFORM_REJECTED with the platform's own words."""
    platform_error = {"code": refusal.code, "message": refusal.message, "retryable": refusal.retryable}
    return ApiError(PLATFORM_REJECTED, platform=page.platform, platform_error=platform_error)
