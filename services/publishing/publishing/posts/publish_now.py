"""Publishes posts at once: stores the attempt, calls the platform, records the outcome."""

from functools import partial

from chassis.db.operations import Done, Effect, once
from chassis.ids import new_id
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import PLATFORM_OUTCOME_UNKNOWN, PLATFORM_REJECTED, POST_IN_PROGRESS, ApiError
from contracts.record import Nothing
from publishing import post_events
from publishing.attachments import Attachment
from publishing.context import FIRST_COMMENTS
from publishing.platforms.base import PlatformRefusal
from publishing.posts.answers import Answer
from publishing.posts.checks import (
    check_connected,
    check_content,
    check_first_comment,
    check_guardrails,
    check_page,
)
from publishing.posts.reading import get_post
from publishing.posts.schedule import new_post
from publishing.records import PageRow, Post, reached
from publishing.sending.context import SendingContext
from publishing.sending.delivery import deliver
from publishing.sending.post_files import await_ready, name_of_copies
from publishing.store.pages import Pages
from publishing.store.posts import Posts
from publishing.store.sending import AttemptOutcome, Claim, Sending

#: How long a publish waits for files that are being made to fit the platform. The client's call ends ten seconds later.
_FILES_SECONDS = 40.0


def publish(
    app: SendingContext,
    caller: Caller,
    request: api.PublishPost,
    answer: Answer | None = None,
) -> api.PublishResult:
    """Publishes a post and returns when the platform has answered. If that takes longer than `answer` allows, the
    client gets PLATFORM_OUTCOME_UNKNOWN, and the outcome is stored later.

    Before the call of the platform, raises UNSUPPORTED_PLATFORM, PAGE_EXPIRED, MEDIA_PROCESSING when files are not
    ready, and the errors of `schedule` except those about times. After the call, raises PLATFORM_REJECTED or
    PLATFORM_OUTCOME_UNKNOWN. Raises POST_IN_PROGRESS while the post of an earlier request of the operation is being
    sent or looked up.
    """
    work = partial(_publish, app, caller, request, answer or Answer())
    return once(app.database, caller, work, partial(_repeat, app, caller))


def report_at_once(app: SendingContext, caller: Caller, request: Nothing) -> Nothing:
    """Turns on events for posts that the account publishes at once, for subscriptions with `immediate_posts`.

    Applies to all posts that begin from now on. It is never turned off: the webhooks service drops events that no
    subscription asks for.
    """
    with app.database.transaction() as connection:
        Sending(connection).report_at_once(caller.account_id)
    return Nothing()


def _publish(
    app: SendingContext, caller: Caller, request: api.PublishPost, answer: Answer
) -> api.PublishResult:
    with app.database.reading() as connection:
        found = Pages(connection).get(request.page_id)
        repeated = Posts(connection).of_operation(caller.operation_id)
    page = reached(caller, found)
    if repeated is not None and repeated.state != "failed":
        raise Done(repeated.id)
    check_page(app, page)
    check_connected(app, page)
    post_id = new_id("pst") if repeated is None else repeated.id
    revision = 1 if repeated is None else repeated.media_revision + 1
    with Attachment(app, caller, post_id, revision=revision, is_new=repeated is None) as attachment:
        check_first_comment(app, request, page)
        check_content(app, request, page, partial(attachment.attach, page.platform))
        seconds = min(_FILES_SECONDS, answer.left_seconds)
        name = name_of_copies(caller.operation_id, post_id, page.id)
        await_ready(app, caller, name, page.platform, attachment.files, request.media_urls, seconds)
        page, post = _claim(app, caller, request, attachment, answer)
    answer.post_id = post.id
    try:
        outcome = deliver(app, page, post)
        recorded = _record(app, outcome, answer)
    finally:
        app.outcomes.let_go(Claim(post.id, post.fence))
    return _answer(app, page, post, recorded, outcome)


def _claim(
    app: SendingContext, caller: Caller, request: api.PublishPost, attachment: Attachment, answer: Answer
) -> tuple[PageRow, Post]:
    """Stores the post with its attempt, or begins the operation's failed post again. The guardrails count the post from
    now on.

    Returns the page as it is now, with the credentials to use, and the post. The page cannot be unlinked before the
    outcome is stored. Raises NOT_FOUND, PAGE_EXPIRED, the guardrails' errors, and POST_IN_PROGRESS if another try is
    sending the post.
    """
    with app.outcomes.claiming() as (connection, note):
        store, sending = Posts(connection), Sending(connection)
        effect = Effect(caller, attachment.post_id)
        around = store.lock_around(request.page_id, caller.account_id, None, effect=effect)
        page, now = reached(caller, around.page), around.now
        check_page(app, page)
        check_guardrails(store, page, None, around)
        if attachment.is_new:
            store.add(new_post(caller, page, request, attachment.post_id, attachment.files, now))
        state = "queued" if attachment.is_new else "failed"
        worker_id, left = app.lease.lock(connection), answer.left_seconds
        post = sending.send_at_once(attachment.post_id, state, worker_id, awaited_seconds=left)
        # Another try has it. Raised inside the transaction: the operation must not keep an id without a post.
        if post is None:
            raise ApiError(POST_IN_PROGRESS)
        note(Claim(post.id, post.fence))
        if post.media_ids:
            post_events.stage_media(connection, post)
    return page, post


def _record(app: SendingContext, outcome: AttemptOutcome, answer: Answer) -> Post | None:
    """Stores the outcome and returns the post. Goes on trying after the client has stopped waiting; then an event
    reports the outcome.

    If the database is down for too long, returns None, because a look-up finds the outcome later. Raises
    SERVICE_UNAVAILABLE instead if the post was certainly not published.
    """
    try:
        return app.outcomes.write(outcome, more_seconds=answer.left_seconds).post
    except ApiError:
        if outcome.state == "failed":
            raise
        return None


def _repeat(app: SendingContext, caller: Caller, post_id: str) -> api.PublishResult | None:
    """Returns the answer to a repeated request: the result of its post; None if the post has failed, so that it may be
    sent again.

    A post fails if the platform refused it or did not publish it, if its files were not ready, or if its outcome stayed
    unknown for a day. Raises POST_IN_PROGRESS while the post is being sent or looked up, and the errors of `get_post`.
    """
    post = get_post(app, caller, post_id)
    if post.state == "published":
        return post.result_view()
    if post.state == "failed":
        return None
    raise ApiError(POST_IN_PROGRESS, post_id=post.id)


def _answer(
    app: SendingContext, page: PageRow, post: Post, recorded: Post | None, outcome: AttemptOutcome
) -> api.PublishResult:
    if recorded is not None and recorded.state == "published":
        if recorded.comment_state == "due":
            FIRST_COMMENTS.wake()
        return recorded.result_view()
    refusal = outcome.refusal
    if recorded is None or refusal is None:
        raise ApiError(PLATFORM_OUTCOME_UNKNOWN, post_id=post.id)
    if outcome.expired is not None:
        raise app.expired(page.id)
    raise rejected(page, refusal)


def rejected(page: PageRow, refusal: PlatformRefusal) -> ApiError:
    """Builds PLATFORM_REJECTED with the platform's own error."""
    platform_error = {"code": refusal.code, "message": refusal.message, "retryable": refusal.retryable}
    return ApiError(PLATFORM_REJECTED, platform=page.platform, platform_error=platform_error)
