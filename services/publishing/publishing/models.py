"""The service's tables; `migrations/` makes them, a test holds the two together. No statements here."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from chassis.db import operations as chassis_operations

metadata = MetaData()
_TIME = DateTime(timezone=True)
_OPEN = "state IN ('sending', 'unknown') OR error_code = 'PLATFORM_OUTCOME_UNKNOWN'"

pages = Table(
    "pages",
    metadata,
    Column("id", Text, primary_key=True),
    Column("account_id", Text, nullable=False),
    Column("brand_id", Text, nullable=False),
    #: As it was when the page was linked: no brand is renamed.
    Column("brand_name", Text, nullable=False),
    Column("platform", Text, nullable=False),
    Column("remote_account_id", Text, nullable=False),
    #: Encrypted (`credentials.Vault`).
    Column("access_token", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("username", Text),
    Column("followers", BigInteger, nullable=False),
    Column("picture", Text),
    Column("expired", Boolean, nullable=False, server_default=text("false")),
    Column("created_at", _TIME, nullable=False),
    #: Real time: the platform takes no calls before; comments are not asked for until then.
    Column("rest_until", _TIME),
    #: Whether the platform was asked to tell us of new comments, and when it is to be asked (again); real time.
    Column("subscribed", Boolean, nullable=False, server_default=text("false")),
    Column("subscribe_at", _TIME),
    Column("subscribe_tries", Integer, nullable=False, server_default=text("0")),
    #: Its owner took it away: shown to nobody, kept for the posts that were made. Linked again it is the same page.
    Column("unlinked_at", _TIME),
    #: Only the release before this one writes and reads it (`chassis.db.operations` now). To be dropped in the next.
    Column("unlink_operation_id", Text),
    #: What the platform knows the permission by: pages with the same one were given by the same person.
    Column("grant_id", Text),
    #: When the credentials are to be renewed (unlinked: revoked); the one clock. Null: never.
    Column("renew_at", _TIME),
    #: Real time: somebody is at it, or it failed and rests.
    Column("renew_lease_until", _TIME),
    Column("renew_fence", BigInteger, nullable=False, server_default=text("0")),
    Column("renew_tries", Integer, nullable=False, server_default=text("0")),
    UniqueConstraint("brand_id", "platform", "remote_account_id"),
    Index("pages_of_account", "account_id", text("created_at DESC"), text("id DESC")),
    Index(
        "pages_listed_of_account",
        "account_id",
        "platform",
        text("created_at DESC"),
        text("id DESC"),
        postgresql_where=text("unlinked_at IS NULL"),
    ),
    Index(
        "pages_listed_of_brand",
        "brand_id",
        "platform",
        text("created_at DESC"),
        text("id DESC"),
        postgresql_where=text("unlinked_at IS NULL"),
    ),
    Index("pages_remote", "remote_account_id", "platform"),
    Index("pages_to_renew", "renew_at", postgresql_where=text("renew_at IS NOT NULL")),
    Index("pages_of_grant", "grant_id", postgresql_where=text("grant_id IS NOT NULL")),
    Index("pages_to_subscribe", "subscribe_at", postgresql_where=text("subscribe_at IS NOT NULL")),
)

#: Linkings on their way.
links = Table(
    "links",
    metadata,
    Column("id", Text, primary_key=True),
    Column("account_id", Text, nullable=False),
    Column("brand_id", Text, nullable=False),
    Column("brand_name", Text, nullable=False),
    Column("platform", Text, nullable=False),
    #: Of PKCE; encrypted.
    Column("verifier", Text, nullable=False),
    #: pending, exchanging (somebody came back: nobody else may), found (the person has agreed), refused (by the
    #: person), failed.
    Column("state", Text, nullable=False),
    #: SHA-256 of the secret in the cookie of the browser that came back: only that browser may agree.
    Column("browser", Text),
    #: What is in `found` once the person agrees; encrypted. The state is still `exchanging`, which the release
    #: before knows as "not there yet".
    Column("unconfirmed", Text),
    #: Of the account, as it was when the session began.
    Column("account_name", Text),
    #: The app's address for the person in the browser; with the outcome it is the last page's.
    Column("return_url", Text),
    #: When the account was told that another browser came back (page.connect.refused).
    Column("refused_at", _TIME),
    #: The accounts found, with their credentials (`linking.Finds`); encrypted.
    Column("found", Text),
    Column("error_code", Text),
    Column("error_message", Text),
    Column("created_at", _TIME, nullable=False),
    #: Afterwards nobody comes back, or chooses any more; then the row is removed.
    Column("expires_at", _TIME, nullable=False),
    Index("links_expire", "expires_at"),
)

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
    #: What media said of each of media_ids when they were attached (`records.Attached`); null without any.
    Column("media_files", JSONB(none_as_null=True)),
    #: Goes up with every word to media about this post (event post.media).
    Column("media_revision", BigInteger, nullable=False, server_default=text("0")),
    #: photo or video for each URL, once it was fetched to be published.
    Column("media_types", ARRAY(Text)),
    Column("first_comment", Text),
    #: `facebook_settings` … by name, as the client sent them.
    Column("settings", JSONB(none_as_null=True)),
    Column("created_at", _TIME, nullable=False),
    #: As asked for; an immediate post's creation.
    Column("scheduled_at", _TIME, nullable=False),
    #: queued, held (its maker lost access), sending (claimed), unknown (sent, outcome to be looked up), published,
    #: failed, cancelled.
    Column("state", Text, nullable=False),
    #: queued, held: when the next attempt is due. sending, unknown: when it was claimed. published: when it went out.
    #: What the guardrails count; null when there is nothing to count.
    Column("out_at", _TIME),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    #: Attempts made before the last manual retry, which begins a fresh budget.
    Column("attempts_before", Integer, nullable=False, server_default=text("0")),
    #: Goes up with every claim: what an earlier holder still wants to write is void.
    Column("fence", BigInteger, nullable=False, server_default=text("0")),
    #: Real time. unknown: the next look-up. Infinity while a worker process has claimed the post: the claim lasts as
    #: long as its worker's lease (`chassis.db.leases`). Another time with `sending`: a claim of the release before.
    Column("lease_until", _TIME),
    #: The worker process that has claimed the post; null when none has.
    Column("worker_id", Text),
    #: Real time.
    Column("unknown_since", _TIME),
    #: What the connector has staged on the platform so far.
    Column("checkpoint", JSONB(none_as_null=True)),
    Column("remote_id", Text),
    Column("permalink", Text),
    Column("error_code", Text),
    Column("error_message", Text),
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
    #: W3C's, of the call that made it, then of its last attempt; null where nothing was traced.
    Column("traceparent", Text),
    #: Real time: until then the client of a publish at once waits for its outcome. Null: nobody waits, an event tells
    #: of it. Whoever answers without the outcome, and whoever records it, decide by this column which of them tells.
    Column("awaited_until", _TIME),
    #: Only the release before this one writes and reads it (`chassis.db.operations` now). To be dropped in the next.
    Column("last_operation_id", Text),
    #: The user and the token that queued it: made, changed, retried or released it last. Null: not noted.
    Column("maker_user_id", Text),
    Column("maker_token_id", Text),
    #: The one clock. Since when its maker has no access: no attempt begins any more, and instead of being claimed the
    #: post is held. Null once somebody else has queued it.
    Column("held_at", _TIME),
    #: token_revoked or collaborator_removed
    Column("hold_reason", Text),
    #: In the order they became due, with what a claim passes over without reading the post.
    Index(
        "posts_due_of_pages",
        "out_at",
        postgresql_include=["page_id", "brand_id"],
        postgresql_where=text("state = 'queued'"),
    ),
    Index("posts_queued_of_page", "page_id", "scheduled_at", "id", postgresql_where=text("state = 'queued'")),
    Index("posts_held", "lease_until", postgresql_where=text("state IN ('sending', 'unknown')")),
    Index("posts_sending_of_page", "page_id", postgresql_where=text("state = 'sending'")),
    #: In the order of a list of held posts.
    Index("posts_on_hold", "page_id", "scheduled_at", "id", postgresql_where=text("state = 'held'")),
    #: Posts that may be on the platform without our knowing their remote ids (`store/looks.py`).
    Index("posts_open_of_page", "page_id", postgresql_where=text(_OPEN)),
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
    #: Of a page what has ended; what is queued and what is open have indexes of their own.
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
        "posts_comment_due",
        "comment_wake_at",
        postgresql_where=text("comment_state IN ('due', 'sending', 'unknown')"),
    ),
    #: One post of the platform belongs to one post of ours.
    Index(
        "posts_remote", "page_id", "remote_id", unique=True, postgresql_where=text("remote_id IS NOT NULL")
    ),
)

#: Makers who lost access lately: their posts are looked for until no call that was on its way can queue one any more.
post_holds = Table(
    "post_holds",
    metadata,
    #: Of the event.
    Column("id", Text, primary_key=True),
    Column("account_id", Text, nullable=False),
    #: token_revoked or collaborator_removed
    Column("reason", Text, nullable=False),
    Column("token_ids", ARRAY(Text), nullable=False),
    #: Real time, both: when it came here, and when its posts are looked for next.
    Column("created_at", _TIME, nullable=False, server_default=text("clock_timestamp()")),
    Column("wake_at", _TIME, nullable=False, server_default=text("clock_timestamp()")),
    Index("post_holds_due", "wake_at"),
)

#: One row per attempt, committed before the platform is called. No outcome: it is not known (yet).
attempts = Table(
    "attempts",
    metadata,
    Column("post_id", Text, ForeignKey("posts.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("fence", BigInteger, nullable=False),
    #: Real time, like ended_at: compared with what the platform holds.
    Column("began_at", _TIME, nullable=False),
    Column("ended_at", _TIME),
    #: published, refused, not_published (looked up and not there), given_up (never established).
    Column("outcome", Text),
    Column("error_code", Text),
    Column("error_message", Text),
    #: The database itself allows no second attempt before the first one's outcome is known.
    Index("attempts_open", "post_id", unique=True, postgresql_where=text("outcome IS NULL")),
)

#: Our stable id of a platform's comment, made when it is first seen.
comments = Table(
    "comments",
    metadata,
    Column("id", Text, primary_key=True),
    Column("post_id", Text, ForeignKey("posts.id"), nullable=False),
    Column("remote_id", Text, nullable=False),
    Column("created_at", _TIME, nullable=False),
    #: known (an id and no more: nobody was told), waiting (a hook said of it, not everything), told (comment.received
    #: was staged), own (the page's own: nobody is told). Only known and waiting change, in the event's transaction.
    Column("state", Text, nullable=False, server_default=text("'known'")),
    #: waiting: what the hook said (`store.received.Said`), and in real time when it is to be looked at (again).
    Column("said", JSONB(none_as_null=True)),
    Column("wake_at", _TIME),
    Column("looks", Integer, nullable=False, server_default=text("0")),
    #: waiting: W3C's, of the call that told of it.
    Column("traceparent", Text),
    UniqueConstraint("post_id", "remote_id"),
    Index("comments_waiting", "wake_at", postgresql_where=text("state = 'waiting'")),
)

#: Published posts whose comments are asked for, until they are too old for it.
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
    #: In the middle of reading the list: where it goes on, the newest comment so far, and whether it is read from end
    #: to end or back to `since`.
    Column("cursor", Text),
    Column("newest", _TIME),
    Column("is_full", Boolean, nullable=False, server_default=text("true")),
    #: Real time: when it was last read from end to end.
    Column("full_at", _TIME),
    Index("comment_polls_due", "wake_at"),
    Index("comment_polls_of_page", "page_id"),
)

#: Posts that are out and whose platform names them only later.
names_awaited = Table(
    "names_awaited",
    metadata,
    Column("post_id", Text, ForeignKey("posts.id"), primary_key=True),
    #: Real time, both: since when, and when the next look is due or the claim on it lapses.
    Column("since", _TIME, nullable=False),
    Column("wake_at", _TIME, nullable=False),
    Index("names_awaited_due", "wake_at"),
)

#: Replies of ours, written before the platform is called.
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
    #: W3C's, of the request.
    Column("traceparent", Text),
    Index("replies_open", "lease_until", postgresql_where=text("state IN ('sending', 'unknown')")),
    Index("replies_of_comment", "comment_id"),
    Index("replies_of_post", "post_id"),
)

#: What each write operation has made: the id of a post or a reply, or an answer as JSON.
operations = chassis_operations.operations.to_metadata(metadata)
