"""What services tell each other has happened: the envelope, the data of each event, and who receives it.

The table `EVENTS` is the topology: every receiver has one durable queue `events.<receiver>`, so an event
published before a receiver's first start waits for it. Names seen by clients are the spec's ("Events").
"""

from datetime import datetime

from contracts.ai import AiJob
from contracts.media import Media
from contracts.publishing import PostError, Reply, ScheduledPost
from contracts.record import Record


class Event(Record):
    """The envelope; `id` (`evt_…`) is stable over every repetition. `data`: the event's own record, as JSON."""

    id: str
    event: str
    created_at: datetime
    account_id: str
    brand_id: str | None = None
    data: dict[str, object] = {}


class PostPublished(Record, rename="camel"):
    user_id: str
    brand_id: str
    post: ScheduledPost


class PostFailed(Record, rename="camel"):
    user_id: str
    brand_id: str
    post: ScheduledPost
    error: PostError
    attempts: int


class CommentReplied(Record, rename="camel"):
    user_id: str
    brand_id: str
    page_id: str
    post_id: str
    reply: Reply


class JobCompleted(Record, rename="camel"):
    user_id: str
    brand_id: str | None
    job: AiJob
    media: Media


class JobFailed(Record, rename="camel"):
    user_id: str
    brand_id: str | None
    job: AiJob


class PostMedia(Record):
    """What a post holds of media's files now; `revision` grows with every change of one post, so that an older word
    that comes late is known as old. Sent for posts that have, or had, media_ids.
    """

    post_id: str
    media_ids: tuple[str, ...]
    #: pending (queued or being sent), published, or released (cancelled, failed, files taken away)
    state: str
    revision: int


class QuotaWarning(Record, rename="camel"):
    user_id: str
    bucket: str
    used: int
    limit: int
    percent: int
    resets_at: datetime


class CallerChanged(Record):
    """Something a cached caller record depends on changed; gateways drop what matches any of these."""

    token_ids: tuple[str, ...] = ()
    account_ids: tuple[str, ...] = ()


class BrandChanged(Record):
    brand_id: str
    name: str


class UnitReturned(Record):
    """A publish or reply whose outcome was unknown turned out not to have happened: its month unit goes back."""

    operation_id: str


class Route(Record):
    """Where an event comes from and goes. A broadcast goes to every gateway process that is up, and is not kept."""

    sender: str
    receivers: tuple[str, ...] = ()
    broadcast: bool = False


EVENTS: dict[str, Route] = {
    "post.published": Route(sender="publishing"),
    "post.failed": Route(sender="publishing"),
    "comment.replied": Route(sender="publishing"),
    "account.quota.warning": Route(sender="quota"),
    "post.media": Route(sender="publishing", receivers=("media",)),
    "ai.job.completed": Route(sender="ai"),
    "ai.job.failed": Route(sender="ai"),
    "unit.returned": Route(sender="publishing", receivers=("quota",)),
    "brand.changed": Route(sender="accounts", receivers=("publishing",)),
    "caller.changed": Route(sender="accounts", broadcast=True),
}
