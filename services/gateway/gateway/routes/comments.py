"""Comments and replies."""

from contracts.errors import (
    BRAND_NOT_AUTHORIZED,
    NOT_FOUND,
    PAGE_EXPIRED,
    PAGE_PERMISSION_MISSING,
    PLATFORM_ERROR,
    PLATFORM_OUTCOME_UNKNOWN,
    PLATFORM_REJECTED,
    POST_IN_PROGRESS,
    UNSUPPORTED_PLATFORM,
)
from contracts.publishing import (
    CommentId,
    CommentList,
    CommentsReadList,
    ListComments,
    MarkCommentsRead,
    ReplyToComment,
    SettledComment,
)
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.routes.filters import check_brand
from gateway.routes.views import ReplyView

_REFUSALS = (NOT_FOUND, BRAND_NOT_AUTHORIZED, UNSUPPORTED_PLATFORM, PAGE_EXPIRED, PLATFORM_ERROR)
#: A list takes one call to the platform. A reply takes two, and is answered after 50 s at the latest.
_PLATFORM_SECONDS, _REPLY_SECONDS = 30.0, 60.0


@endpoint(
    "GET", "/comments", scope="read:comments", meter="reads", deadline_seconds=_PLATFORM_SECONDS, errors=_REFUSALS,
)  # fmt: skip
def list_comments(exchange: Exchange, request: ListComments) -> CommentList:
    """List the comments of a published post, newest first; on IG, LN and YT with the replies of each thread."""
    exchange.await_admission()  # a refused request must not call the platform
    return exchange.ask(exchange.services.publishing.list_comments, request)


@endpoint(
    "PUT", "/comments/read", scope="read:comments", meter="", errors=(NOT_FOUND, BRAND_NOT_AUTHORIZED),
    idempotent=False,
)  # fmt: skip
def mark_comments_read(exchange: Exchange, request: MarkCommentsRead) -> CommentsReadList:
    """Mark the comments of a brand, or of all brands, as read by the person of the token."""
    if request.brand_id is not None:
        check_brand(exchange, request.brand_id, field="brand_id")
    return exchange.relay(exchange.services.publishing.mark_comments_read, request)


@endpoint(
    "PUT", "/comments/{id}/settled", scope="write:comments", meter="writes", errors=(NOT_FOUND, BRAND_NOT_AUTHORIZED),
    idempotent=False,
)  # fmt: skip
def settle_comment(exchange: Exchange, request: CommentId) -> SettledComment:
    """Say that a comment needs no reply."""
    return exchange.relay(exchange.services.publishing.settle_comment, request)


@endpoint(
    "DELETE", "/comments/{id}/settled", scope="write:comments", meter="writes",
    errors=(NOT_FOUND, BRAND_NOT_AUTHORIZED), idempotent=False,
)  # fmt: skip
def reopen_comment(exchange: Exchange, request: CommentId) -> SettledComment:
    """Say that a comment may need a reply after all."""
    return exchange.relay(exchange.services.publishing.reopen_comment, request)


@endpoint(
    "POST", "/comments/reply", scope="write:comments", meter="replies", status=201, deadline_seconds=_REPLY_SECONDS,
    errors=(*_REFUSALS, PAGE_PERMISSION_MISSING, PLATFORM_REJECTED, PLATFORM_OUTCOME_UNKNOWN, POST_IN_PROGRESS),
)  # fmt: skip
def reply_to_comment(exchange: Exchange, request: ReplyToComment) -> ReplyView:
    """Reply to a comment."""
    return ReplyView(reply=exchange.ask(exchange.services.publishing.reply_to_comment, request))
