"""The service's tables, except those of linked pages, link sessions and brand names, which are in `page_models`.
`migrations/` creates them; a test compares migrations and models.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from chassis.db import operations as chassis_operations
from publishing.page_models import metadata

_TIME = DateTime(timezone=True)
_COMMENTED = text("commented_at IS NOT NULL")
_LAST_COMMENTED_FIRST = text("commented_at DESC"), text("id DESC")
_OPEN = "state IN ('sending', 'unknown') OR error_code = 'PLATFORM_OUTCOME_UNKNOWN'"

posts = Table(
    "posts",
    metadata,
    Column("id", Text, primary_key=True),
    Column("operation_id", Text, unique=True),
    Column("account_id", Text, nullable=False),
    Column("brand_id", Text, nullable=False),
    Column("page_id", Text, ForeignKey("pages.id"), nullable=False),
    Column("platform", Text, nullable=False),
    #: scheduled, or immediate (a publish at once).
    Column("origin", Text, nullable=False),
    Column("message", Text),
    Column("media_ids", ARRAY(Text), nullable=False),
    Column("media_urls", ARRAY(Text), nullable=False),
    #: The media service's description of each of media_ids when they were attached (`records.Attached`); null without
    #: any.
    Column("media_files", JSONB(none_as_null=True)),
    #: Goes up with every event post.media about this post.
    Column("media_revision", BigInteger, nullable=False, server_default=text("0")),
    #: photo or video for each URL, once it was fetched for publishing.
    Column("media_types", ARRAY(Text)),
    Column("first_comment", Text),
    #: `facebook_settings` … by name, as the client sent them.
    Column("settings", JSONB(none_as_null=True)),
    Column("created_at", _TIME, nullable=False),
    #: The requested time; of an immediate post its creation.
    Column("scheduled_at", _TIME, nullable=False),
    #: queued, held (its maker lost access), sending (claimed), unknown (the outcome is looked up), published, failed,
    #: cancelled.
    Column("state", Text, nullable=False),
    #: queued, held: when the next attempt is due. sending, unknown: when it was claimed. published: when it was
    #: published. The guardrails count this time; null when there is nothing to count.
    Column("out_at", _TIME),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    #: Attempts before the last manual retry, which allows as many again.
    Column("attempts_before", Integer, nullable=False, server_default=text("0")),
    #: Goes up with every claim: later writes of an earlier holder are void.
    Column("fence", BigInteger, nullable=False, server_default=text("0")),
    #: Real time. unknown: the next look-up. Infinity while a worker process has claimed the post: the claim lasts as
    #: long as its worker's lease (`chassis.db.leases`).
    Column("lease_until", _TIME),
    #: The worker process that has claimed the post; null when none has.
    Column("worker_id", Text),
    #: Real time.
    Column("unknown_since", _TIME),
    #: What the connector has staged on the platform so far (containers, uploads).
    Column("checkpoint", JSONB(none_as_null=True)),
    Column("remote_id", Text),
    Column("permalink", Text),
    Column("error_code", Text),
    Column("error_message", Text),
    #: By `clock_now()`: when the platform refused a failed post for the last time. Null: the post did not fail that
    #: way, or by a release that did not note it.
    Column("refused_at", _TIME),
    #: The counts of the last engagement read.
    Column("likes", BigInteger, nullable=False, server_default=text("0")),
    Column("comments", BigInteger, nullable=False, server_default=text("0")),
    Column("shares", BigInteger, nullable=False, server_default=text("0")),
    #: The first comment is a step of its own after `published`: due, sending, unknown, done, failed.
    Column("comment_state", Text),
    #: Real time: when the step is to be taken, looked up, or its claim lapses.
    Column("comment_wake_at", _TIME),
    Column("comment_began_at", _TIME),
    Column("comment_attempts", Integer, nullable=False, server_default=text("0")),
    Column("comment_fence", BigInteger, nullable=False, server_default=text("0")),
    #: The error of a failed first comment; null if a release before 1.4.0 gave it up.
    Column("comment_error_code", Text),
    Column("comment_error_message", Text),
    #: W3C traceparent of the call that made the post, then of its last attempt; null if not traced.
    Column("traceparent", Text),
    #: Real time: until then the client of a publish at once waits for its outcome. Null: no client waits, an event
    #: reports it. The answer without the outcome and the write of the outcome decide by this column which of them
    #: reports it.
    Column("awaited_until", _TIME),
    #: Of a publish at once: its outcome has an event for the subscriptions with `immediate_posts` even if the client
    #: waits for it. Set from `immediate_accounts` at each try.
    Column("reports_at_once", Boolean, nullable=False, server_default=text("false")),
    #: When the newest comment of a visitor was received. Null: never, or by a release before 1.4.0.
    Column("commented_at", _TIME),
    #: The user and the token that made, changed, retried or released it last. Null: unknown.
    Column("maker_user_id", Text),
    Column("maker_token_id", Text),
    #: By `clock_now()`. Since when its maker has no access: no attempt begins any more, and a claim holds the post
    #: instead. Null once somebody with access has queued it.
    Column("held_at", _TIME),
    #: token_revoked or collaborator_removed
    Column("hold_reason", Text),
    #: In the order of due times, with the columns by which a claim skips a post without reading it.
    Index(
        "posts_due_of_pages",
        "out_at",
        postgresql_include=["page_id", "brand_id"],
        postgresql_where=text("state = 'queued'"),
    ),
    Index("posts_queued_of_page", "page_id", "scheduled_at", "id", postgresql_where=text("state = 'queued'")),
    Index("posts_held", "lease_until", postgresql_where=text("state IN ('sending', 'unknown')")),
    Index("posts_sending_of_page", "page_id", postgresql_where=text("state = 'sending'")),
    #: In the order of the list of held posts.
    Index("posts_on_hold", "page_id", "scheduled_at", "id", postgresql_where=text("state = 'held'")),
    #: Posts that may be on the platform although their remote ids are not known (`store/reconciliation.py`).
    Index("posts_open_of_page", "page_id", postgresql_where=text(_OPEN)),
    Index(
        "posts_refused_of_page",
        "page_id",
        "refused_at",
        postgresql_where=text("state = 'failed' AND refused_at IS NOT NULL"),
    ),
    Index("posts_of_page", "page_id", "out_at", "state", postgresql_where=text("out_at IS NOT NULL")),
    Index("posts_of_brand", "brand_id", "out_at", "state", postgresql_where=text("out_at IS NOT NULL")),
    Index(
        "posts_listed",
        "account_id",
        "state",
        "scheduled_at",
        "id",
        postgresql_where=text("origin = 'scheduled'"),
    ),
    #: The ended posts of a page; queued and open ones have indexes of their own.
    Index(
        "posts_ended_of_page",
        "page_id",
        "state",
        "scheduled_at",
        "id",
        postgresql_where=text("origin = 'scheduled' AND state IN ('published', 'failed', 'cancelled')"),
    ),
    Index(
        "posts_published_of_account",
        "account_id",
        "platform",
        text("out_at DESC"),
        text("id DESC"),
        postgresql_where=text("state = 'published'"),
    ),
    Index(
        "posts_commented_of_account",
        "account_id",
        "platform",
        *_LAST_COMMENTED_FIRST,
        postgresql_where=_COMMENTED,
    ),
    Index("posts_commented_of_page", "page_id", *_LAST_COMMENTED_FIRST, postgresql_where=_COMMENTED),
    Index(
        "posts_comment_due",
        "comment_wake_at",
        postgresql_where=text("comment_state IN ('due', 'sending', 'unknown')"),
    ),
    #: One post of the platform belongs to one post of ours.
    Index(
        "posts_remote", "page_id", "remote_id", unique=True, postgresql_where=text("remote_id IS NOT NULL")
    ),
)

#: Accounts that have, or had, a webhook subscription with `immediate_posts`: no event is sent for the posts that other
#: accounts make at once.
immediate_accounts = Table("immediate_accounts", metadata, Column("account_id", Text, primary_key=True))

#: Makers who lost access lately: their posts are held until no call that was in progress can queue one any more.
post_holds = Table(
    "post_holds",
    metadata,
    #: The id of the event.
    Column("id", Text, primary_key=True),
    Column("account_id", Text, nullable=False),
    #: token_revoked or collaborator_removed
    Column("reason", Text, nullable=False),
    Column("token_ids", ARRAY(Text), nullable=False),
    #: Real time, both: when the event arrived, and when its posts are looked for next.
    Column("created_at", _TIME, nullable=False, server_default=text("clock_timestamp()")),
    Column("wake_at", _TIME, nullable=False, server_default=text("clock_timestamp()")),
    Index("post_holds_due", "wake_at"),
)

#: One row per attempt, committed before the platform is called. Without an outcome it is not known yet.
attempts = Table(
    "attempts",
    metadata,
    Column("post_id", Text, ForeignKey("posts.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("fence", BigInteger, nullable=False),
    #: Real time, like ended_at: compared with the platform's times.
    Column("began_at", _TIME, nullable=False),
    Column("ended_at", _TIME),
    #: published, refused, not_published (looked up and not there), given_up (never known).
    Column("outcome", Text),
    Column("error_code", Text),
    Column("error_message", Text),
    #: No second attempt can be stored before the outcome of the first is known.
    Index("attempts_open", "post_id", unique=True, postgresql_where=text("outcome IS NULL")),
)

#: Our stable id of a platform's comment, made when it is first seen.
comments = Table(
    "comments",
    metadata,
    Column("id", Text, primary_key=True),
    Column("post_id", Text, ForeignKey("posts.id"), nullable=False),
    Column("remote_id", Text, nullable=False),
    #: When it was first received.
    Column("created_at", _TIME, nullable=False),
    #: known (has an id, no event yet), waiting (a webhook lacked details), told (comment.received was staged), own (the
    #: page's own: no event). Only known and waiting change, in the event's transaction.
    Column("state", Text, nullable=False, server_default=text("'known'")),
    #: waiting: the comment as the webhook described it, and in real time when its details are asked for next.
    Column("said", JSONB(none_as_null=True)),
    Column("wake_at", _TIME),
    Column("looks", Integer, nullable=False, server_default=text("0")),
    #: waiting: W3C traceparent of the webhook.
    Column("traceparent", Text),
    #: When somebody marked it as needing no reply; null: it is not marked.
    Column("settled_at", _TIME),
    UniqueConstraint("post_id", "remote_id"),
    Index("comments_waiting", "wake_at", postgresql_where=text("state = 'waiting'")),
)

#: Published posts whose comments are polled, until they are too old.
comment_polls = Table(
    "comment_polls",
    metadata,
    Column("post_id", Text, ForeignKey("posts.id"), primary_key=True),
    Column("page_id", Text, nullable=False),
    #: Real time: the next poll is due, or the claim on it lapses.
    Column("wake_at", _TIME, nullable=False),
    Column("fence", BigInteger, nullable=False, server_default=text("0")),
    #: The platform's time of the newest comment when the list was last read through.
    Column("since", _TIME),
    #: While the list is being read: the position, the newest comment so far, and whether the whole list is read or only
    #: back to `since`.
    Column("cursor", Text),
    Column("newest", _TIME),
    Column("is_full", Boolean, nullable=False, server_default=text("true")),
    #: Real time: when the whole list was last read.
    Column("full_at", _TIME),
    Index("comment_polls_due", "wake_at"),
    Index("comment_polls_of_page", "page_id"),
)

#: Published posts whose platform gives the final id later.
names_awaited = Table(
    "names_awaited",
    metadata,
    Column("post_id", Text, ForeignKey("posts.id"), primary_key=True),
    #: Real time, both: since when, and when the next look-up is due or its claim lapses.
    Column("since", _TIME, nullable=False),
    Column("wake_at", _TIME, nullable=False),
    Index("names_awaited_due", "wake_at"),
)

#: Test posts of the operator's `platform check --post`, until they are removed.
trial_posts = Table(
    "trial_posts",
    metadata,
    Column("page_id", Text, ForeignKey("pages.id"), primary_key=True),
    #: Names the test, so that a look-up and a person recognise it.
    Column("text", Text, nullable=False),
    #: Real time.
    Column("began_at", _TIME, nullable=False, server_default=text("clock_timestamp()")),
    #: As in `posts`.
    Column("checkpoint", JSONB(none_as_null=True)),
    #: Null: it is being made, or the check was interrupted.
    Column("remote_id", Text),
)

#: Our replies, stored before the platform is called.
replies = Table(
    "replies",
    metadata,
    Column("id", Text, primary_key=True),
    Column("operation_id", Text, unique=True),
    Column("comment_id", Text, ForeignKey("comments.id"), nullable=False),
    Column("post_id", Text, ForeignKey("posts.id"), nullable=False),
    Column("message", Text, nullable=False),
    #: sending, unknown, done, failed.
    Column("state", Text, nullable=False),
    Column("fence", BigInteger, nullable=False, server_default=text("1")),
    #: Real time, like began_at and unknown_since. sending: the claim lapses. unknown: the next look-up.
    Column("lease_until", _TIME),
    Column("began_at", _TIME, nullable=False),
    Column("unknown_since", _TIME),
    Column("remote_id", Text),
    Column("created_at", _TIME, nullable=False),
    #: W3C traceparent of the request.
    Column("traceparent", Text),
    Index("replies_open", "lease_until", postgresql_where=text("state IN ('sending', 'unknown')")),
    Index("replies_of_comment", "comment_id"),
    Index("replies_of_post", "post_id"),
)

#: What each write operation has made: the id of a post or reply, or an answer as JSON.
operations = chassis_operations.operations.to_metadata(metadata)

#: Until when a person has read the comments of a brand. It only ever becomes later.
comment_reads = Table(
    "comment_reads",
    metadata,
    Column("user_id", Text, primary_key=True),
    Column("brand_id", Text, primary_key=True),
    Column("read_until", _TIME, nullable=False),
)
