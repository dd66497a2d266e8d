"""Posts: schedule, publish and validate; scheduled, held and published posts; engagement."""

import msgspec

from contracts import publishing as api
from contracts.errors import (
    BRAND_NOT_AUTHORIZED,
    BRAND_PUBLISH_GUARDRAIL,
    INVALID_MEDIA_URL,
    MEDIA_PROCESSING,
    NOT_FOUND,
    PAGE_EXPIRED,
    PAGE_PERMISSION_MISSING,
    PAGE_PUBLISH_GUARDRAIL,
    PLATFORM_ERROR,
    PLATFORM_OUTCOME_UNKNOWN,
    PLATFORM_REJECTED,
    POST_IN_PROGRESS,
    SCHEDULE_OUT_OF_RANGE,
    UNSUPPORTED_PLATFORM,
    VALIDATION_ERROR,
)
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.http.answers import Answer
from gateway.routes import several_pages
from gateway.routes.filters import filtered
from gateway.routes.several_pages import overrides
from gateway.routes.views import PostView, ScheduledPostView

_REACH = (NOT_FOUND, BRAND_NOT_AUTHORIZED)
_CONTENT = (INVALID_MEDIA_URL, UNSUPPORTED_PLATFORM, PAGE_EXPIRED, PAGE_PERMISSION_MISSING)
_GUARDRAILS = (PAGE_PUBLISH_GUARDRAIL, BRAND_PUBLISH_GUARDRAIL)
#: A platform may take long to process a video (spec "Publish result fields"); load balancers often cut a request at 60
#: s.
_PUBLISH_SECONDS = 60.0
#: Covers one call to the platform as a rule; a read can be repeated at no cost.
_ENGAGEMENT_SECONDS = 20.0


@endpoint(
    "POST", "/posts/schedule", scope="write:posts", meter="publishes", result=ScheduledPostView,
    several=api.PageResults, status=201,
    errors=(*_REACH, *_CONTENT, *_GUARDRAILS, SCHEDULE_OUT_OF_RANGE, POST_IN_PROGRESS),
)  # fmt: skip
def schedule_post(exchange: Exchange, request: api.ScheduleOnPages) -> ScheduledPostView | Answer:
    """Schedule a post."""
    publishing = exchange.services.publishing
    if request.page_ids is not None:
        return several_pages.send(
            exchange,
            request,
            lambda pages: api.SchedulePosts.made_from(request, pages=pages),
            publishing.schedule_posts,
        )
    single = api.SchedulePost.made_from(request)
    return ScheduledPostView(scheduled_post=exchange.relay(publishing.schedule_post, single))


@endpoint(
    "POST", "/posts/publish", scope="write:posts", meter="publishes", result=api.PublishResult, several=api.PageResults,
    status=201, deadline_seconds=_PUBLISH_SECONDS,
    errors=(
        *_REACH, *_CONTENT, *_GUARDRAILS, POST_IN_PROGRESS, MEDIA_PROCESSING, PLATFORM_REJECTED,
        PLATFORM_OUTCOME_UNKNOWN,
    ),
)  # fmt: skip
def publish_post(exchange: Exchange, request: api.PublishOnPages) -> api.PublishResult | Answer:
    """Publish a post now, and wait until its platform accepts or refuses it."""
    publishing = exchange.services.publishing
    if request.page_ids is not None:
        return several_pages.send(
            exchange,
            request,
            lambda pages: api.PublishPosts.made_from(request, pages=pages),
            publishing.publish_posts,
        )
    return exchange.relay(publishing.publish_post, api.PublishPost.made_from(request))


@endpoint(
    "POST", "/posts/validate", scope="write:posts", meter="", result=api.Validation, several=api.PageValidations,
    errors=_REACH,
)  # fmt: skip
def validate_post(
    exchange: Exchange, request: api.ValidateOnPages
) -> api.Validation | api.PageValidations | Answer:
    """Run all checks of scheduling or publishing a post. Nothing is stored or counted."""
    publishing = exchange.services.publishing
    ignored = _ignored(exchange)
    if request.page_ids is None:
        single = api.ValidatePost.made_from(request)
        if not ignored:
            return exchange.relay(publishing.validate_post, single)
        only = exchange.ask(publishing.validate_post, single)
        return msgspec.structs.replace(only, warnings=(*only.warnings, *ignored))
    asked = api.ValidatePosts.made_from(request, pages=overrides.pages_of(request))
    found = exchange.ask(publishing.validate_posts, asked)
    results = tuple(
        msgspec.structs.replace(
            result,
            errors=overrides.findings_of(result.errors, result.page_id, request),
            warnings=(*overrides.findings_of(result.warnings, result.page_id, request), *ignored),
        )
        for result in found.results
    )
    return msgspec.structs.replace(found, results=results)


@endpoint("GET", "/posts/scheduled", scope="read:posts", meter="reads", errors=_REACH)
def list_scheduled_posts(exchange: Exchange, request: api.ListScheduledPosts) -> api.ScheduledPostList:
    """List scheduled posts, soonest first."""
    return exchange.relay(exchange.services.publishing.list_scheduled_posts, filtered(exchange, request))


@endpoint("GET", "/posts", scope="read:posts", meter="reads")
def list_posts(exchange: Exchange, request: api.ListPosts) -> api.PostList:
    """List posts by their ids, each with its attempts and their errors."""
    return exchange.relay(exchange.services.publishing.list_posts, request)


@endpoint("GET", "/posts/scheduled/counts", scope="read:posts", meter="reads", errors=_REACH)
def count_scheduled_posts(exchange: Exchange, request: api.CountScheduledPosts) -> api.ScheduledPostCounts:
    """Count the scheduled posts that are queued, held or failed."""
    return exchange.relay(exchange.services.publishing.count_scheduled_posts, filtered(exchange, request))


@endpoint("GET", "/posts/calendar", scope="read:posts", meter="reads", errors=_REACH)
def list_calendar_posts(exchange: Exchange, request: api.ListCalendarPosts) -> api.CalendarPosts:
    """List the posts of a span of days in brief, planned and published ones together, soonest first."""
    return exchange.relay(exchange.services.publishing.list_calendar_posts, filtered(exchange, request))


@endpoint("GET", "/posts/scheduled/{id}", scope="read:posts", meter="reads", errors=_REACH)
def get_scheduled_post(exchange: Exchange, request: api.PostId) -> ScheduledPostView:
    """Get a scheduled post."""
    return ScheduledPostView(
        scheduled_post=exchange.relay(exchange.services.publishing.get_scheduled_post, request)
    )


@endpoint("GET", "/posts/{id}", scope="read:posts", meter="reads", errors=_REACH)
def get_post(exchange: Exchange, request: api.PostId) -> PostView:
    """Get any post, with its attempts and their errors."""
    return PostView(post=exchange.relay(exchange.services.publishing.get_post, request))


@endpoint(
    "PATCH", "/posts/scheduled/{id}", scope="write:posts", meter="writes",
    errors=(*_REACH, *_CONTENT, *_GUARDRAILS, SCHEDULE_OUT_OF_RANGE, POST_IN_PROGRESS),
)  # fmt: skip
def edit_post(exchange: Exchange, request: api.EditPost) -> ScheduledPostView:
    """Edit or reschedule a queued or held post; a held post stays held."""
    return ScheduledPostView(scheduled_post=exchange.relay(exchange.services.publishing.edit_post, request))


@endpoint(
    "DELETE", "/posts/scheduled/{id}", scope="write:posts", meter="writes", errors=(*_REACH, POST_IN_PROGRESS)
)
def cancel_post(exchange: Exchange, request: api.PostId) -> api.Cancelled:
    """Cancel a queued, held or failed post."""
    return exchange.relay(exchange.services.publishing.cancel_post, request)


@endpoint(
    "POST", "/posts/scheduled/{id}/retry", scope="write:posts", meter="writes",
    errors=(*_REACH, *_CONTENT, *_GUARDRAILS, POST_IN_PROGRESS),
)  # fmt: skip
def retry_post(exchange: Exchange, request: api.PostId) -> ScheduledPostView:
    """Queue a failed post again."""
    return ScheduledPostView(scheduled_post=exchange.relay(exchange.services.publishing.retry_post, request))


@endpoint("POST", "/posts/held/release", scope="write:posts", meter="writes", errors=_REACH)
def release_held_posts(exchange: Exchange, request: api.ReleasePosts) -> api.PostsReleased:
    """Queue held posts again: those with the given ids, those that one person made, or all."""
    return exchange.relay(exchange.services.publishing.release_held_posts, request)


@endpoint("POST", "/posts/held/cancel", scope="write:posts", meter="writes", errors=_REACH)
def cancel_held_posts(exchange: Exchange, request: api.HeldPosts) -> api.HeldPostsCancelled:
    """Cancel held posts: those with the given ids, those that one person made, or all."""
    return exchange.relay(exchange.services.publishing.cancel_held_posts, request)


@endpoint("GET", "/posts/published", scope="read:posts", meter="reads", errors=_REACH)
def list_published_posts(exchange: Exchange, request: api.ListPublishedPosts) -> api.PublishedPostList:
    """List published posts, newest first."""
    return exchange.relay(exchange.services.publishing.list_published_posts, filtered(exchange, request))


@endpoint(
    "GET", "/posts/published/{id}/engagement", scope="read:posts", meter="reads",
    deadline_seconds=_ENGAGEMENT_SECONDS, errors=(*_REACH, UNSUPPORTED_PLATFORM, PAGE_EXPIRED, PLATFORM_ERROR),
)  # fmt: skip
def get_engagement(exchange: Exchange, request: api.PostId) -> api.Engagement:
    """Get current likes, comments and shares from the platform (FB and IG)."""
    exchange.await_admission()  # a refused request must not call the platform
    return exchange.relay(exchange.services.publishing.get_engagement, request)


def _ignored(exchange: Exchange) -> tuple[api.Finding, ...]:
    """Returns a warning for each field of the body that is ignored, as it may be misspelt."""
    return tuple(
        api.Finding(code=VALIDATION_ERROR.code, message=f"{name}: is ignored; {advice}", field=name)
        for name, advice in exchange.endpoint.reader.ignored(exchange.body)
    )
