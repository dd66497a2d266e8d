"""The service's tables. `migrations/` creates them; a test compares the two."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from chassis.db import operations as chassis_operations

metadata = MetaData()
_TIME = DateTime(timezone=True)

#: Accounts with their tier, by which the quota service counts their deliveries. Callers and events of the accounts
#: service tell it.
accounts = Table(
    "accounts",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tier", Text, nullable=False),
    #: The newest `account.changed` event taken, or empty; ids are in order of time.
    Column("told_by", Text, nullable=False, server_default=""),
    #: Real time.
    Column("told_at", _TIME, nullable=False, server_default=text("clock_timestamp()")),
)

subscriptions = Table(
    "subscriptions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("account_id", Text, ForeignKey("accounts.id"), nullable=False),
    Column("operation_id", Text),
    Column("name", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("events", ARRAY(Text), nullable=False),
    #: Empty: all.
    Column("brand_ids", ARRAY(Text), nullable=False),
    #: Whether it gets the outcomes of posts made at once too.
    Column("immediate_posts", Boolean, nullable=False, server_default="false"),
    #: The brands of the token that made it, empty if it reached all; null: not noted.
    Column("made_within", ARRAY(Text)),
    #: The user and the token that created, changed or enabled it last; null: not noted, or no token.
    Column("maker_user_id", Text),
    Column("maker_token_id", Text),
    Column("status", Text, nullable=False, server_default="active"),
    Column("disabled_reason", Text),
    #: Null while it is active, and if a release before 1.4.0 disabled it.
    Column("disabled_at", _TIME),
    #: It is disabled, and maintenance has yet to fail its waiting deliveries.
    Column("ending", Boolean, nullable=False, server_default="false"),
    Column("created_at", _TIME, nullable=False),
    #: Its log is removed in batches, then the row.
    Column("deleted_at", _TIME),
    Column("delete_operation_id", Text),
    CheckConstraint("status IN ('active', 'disabled')"),
    UniqueConstraint("account_id", "operation_id"),
    Index(
        "subscriptions_newest",
        "account_id",
        text("created_at DESC"),
        text("id DESC"),
        postgresql_where=text("deleted_at IS NULL"),
    ),
    Index(
        "subscriptions_resting",
        "id",
        postgresql_where=text("status = 'disabled' OR deleted_at IS NOT NULL"),
    ),
    Index("subscriptions_ending", "id", postgresql_where=text("ending")),
    Index("subscriptions_deleted", "deleted_at", postgresql_where=text("deleted_at IS NOT NULL")),
)

#: Tokens that lost access, kept for as long as a call with one of them may still run.
revoked_tokens = Table(
    "revoked_tokens",
    metadata,
    Column("token_id", Text, primary_key=True),
    #: Real time.
    Column("revoked_at", _TIME, nullable=False, server_default=text("clock_timestamp()")),
    Index("revoked_tokens_oldest", "revoked_at"),
)

#: Encrypted. The newest signs; replaced ones sign as well until they expire.
secrets = Table(
    "secrets",
    metadata,
    Column("id", Text, primary_key=True),
    Column("subscription_id", Text, ForeignKey("subscriptions.id", ondelete="CASCADE"), nullable=False),
    Column("operation_id", Text),
    Column("secret", Text, nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("expires_at", _TIME),
    UniqueConstraint("subscription_id", "operation_id"),
    Index("secrets_expiring", "expires_at", postgresql_where=text("expires_at IS NOT NULL")),
)

#: The endpoint queues, one per subscription: which process holds it, and how the endpoint answers.
lanes = Table(
    "lanes",
    metadata,
    Column("subscription_id", Text, ForeignKey("subscriptions.id", ondelete="CASCADE"), primary_key=True),
    #: Grows each time that a process takes the queue: an earlier holder can record nothing any more.
    Column("fence", BigInteger, nullable=False, server_default="0"),
    #: Real time.
    Column("lease_until", _TIME),
    Column("consecutive_failures", Integer, nullable=False, server_default="0"),
    #: How often the subscription was enabled: attempts that began before the last time do not count.
    Column("enabled_count", Integer, nullable=False, server_default="0"),
    #: When the receiver last acknowledged a delivery.
    Column("last_delivery_at", _TIME),
)

#: Events, once for all subscriptions. `body`: the envelope's bytes, as signed and sent.
events = Table(
    "events",
    metadata,
    Column("id", Text, primary_key=True),
    Column("event", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("received_at", _TIME, nullable=False),
    #: W3C's trace context of the sender; null if it was not traced.
    Column("traceparent", Text),
    #: The post that the event is about; null for other events, and for those taken before 1.4.0.
    Column("post_id", Text),
    Index("events_received", "received_at"),
    Index("events_of_post", "post_id", postgresql_where=text("post_id IS NOT NULL")),
)

#: One event to one subscription.
deliveries = Table(
    "deliveries",
    metadata,
    Column("subscription_id", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("event_id", Text, nullable=False),
    Column("event", Text, nullable=False),
    Column("state", Text, nullable=False),
    #: Of the next attempt, while pending.
    Column("due_at", _TIME, nullable=False),
    #: Of a pending one: its time has come. Deliveries that wait for a retry are in another index.
    Column("ready", Boolean, nullable=False, server_default="false"),
    #: Attempts made in all.
    Column("attempts", Integer, nullable=False, server_default="0"),
    #: Failed attempts since it was written or replayed: the place in the retry schedule.
    Column("failures", Integer, nullable=False, server_default="0"),
    #: A test or a replay: sent also while the subscription is disabled.
    Column("asked", Boolean, nullable=False, server_default="false"),
    #: It has its unit of the month; null: not noted.
    Column("charged", Boolean),
    Column("created_at", _TIME, nullable=False),
    CheckConstraint("state IN ('pending', 'delivered', 'failed', 'skipped')"),
    Index(
        "deliveries_ready", "subscription_id", "due_at", postgresql_where=text("state = 'pending' AND ready")
    ),
    Index("deliveries_waiting", "due_at", postgresql_where=text("state = 'pending' AND NOT ready")),
    Index("deliveries_pending", "subscription_id", "due_at", postgresql_where=text("state = 'pending'")),
    Index(
        "deliveries_missed", "subscription_id", "id", postgresql_where=text("state IN ('failed', 'skipped')")
    ),
    Index("deliveries_created", "created_at"),
)

attempts = Table(
    "attempts",
    metadata,
    Column("delivery_id", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("at", _TIME, nullable=False),
    Column("duration_ms", Integer, nullable=False),
    Column("status_code", Integer),
    Column("error", Text),
    Column("answer", Text),
)

#: Tests and replays by operation: a repeated call gets the same delivery.
asks = Table(
    "asks",
    metadata,
    Column("operation_id", Text, primary_key=True),
    Column("subscription_id", Text, nullable=False),
    Column("delivery_id", Text, nullable=False),
    Column("created_at", _TIME, nullable=False),
    Index("asks_created", "created_at"),
)

#: The subscription that each operation created.
operations = chassis_operations.operations.to_metadata(metadata)
