"""The AI service's tables, as its statements see them; the migrations make them."""

from sqlalchemy import BigInteger, Boolean, Column, Date, DateTime, Integer, MetaData, String, Table
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from chassis.db import operations as chassis_operations

metadata = MetaData()

#: One row, one entry; its legs are columns that add up to zero (see the migration). Append-only.
entries = Table(
    "entries",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("account_id", String),
    Column("kind", String),
    #: Unique within its kind.
    Column("operation_id", String),
    #: First day of the month (UTC) whose plan credits it is about.
    Column("month", Date),
    Column("plan", Integer),
    Column("referral", Integer),
    Column("bought", Integer),
    Column("owed", Integer),
    Column("issued", Integer),
    Column("lapsed", Integer),
    Column("spent", Integer),
    Column("job_id", String),
    Column("action", String),
    Column("created_at", DateTime(timezone=True)),
)

#: What the owner wishes; `due_at` is when the worker looks at the balance next (business time).
auto_refills = Table(
    "auto_refills",
    metadata,
    Column("account_id", String, primary_key=True),
    Column("tier", String),
    Column("enabled", Boolean),
    Column("threshold", Integer),
    Column("credits", Integer),
    Column("customer", String),
    Column("payment_method", String),
    Column("due_at", DateTime(timezone=True)),
    #: Business time.
    Column("saved_at", DateTime(timezone=True)),
    #: W3C's, of what made it due.
    Column("traceparent", String),
)

#: One row per payment asked for, written before it is asked.
refills = Table(
    "refills",
    metadata,
    Column("id", String, primary_key=True),
    Column("account_id", String),
    Column("credits", Integer),
    Column("price_cents", Integer),
    Column("customer", String),
    Column("payment_method", String),
    #: open, paid or failed
    Column("state", String),
    Column("payment_id", String),
    Column("error", String),
    Column("asked_count", Integer),
    Column("created_at", DateTime(timezone=True)),
    Column("began_at", DateTime(timezone=True)),
    Column("look_at", DateTime(timezone=True)),
    #: Business time, before the order was sent, the last time.
    Column("sent_at", DateTime(timezone=True)),
    #: Of the charge that left too little.
    Column("traceparent", String),
)

#: A payment that Stripe has told something of; without an account its purchase has not been told of (yet).
payments = Table(
    "payments",
    metadata,
    #: Stripe's PaymentIntent, `pi_…`.
    Column("payment_id", String, primary_key=True),
    Column("account_id", String),
    #: What it bought.
    Column("credits", Integer),
    #: What was paid, and what has gone back by refunds, in the currency's smallest unit.
    Column("amount", BigInteger),
    Column("currency", String),
    Column("refunded", BigInteger),
    #: When Stripe said so, in its own seconds: an older word does not count.
    Column("refunded_at", BigInteger),
    #: Of its credits, those taken back at present.
    Column("clawed_back", Integer),
    #: Ledger entries made for it, which are numbered.
    Column("entries_count", Integer),
    Column("noted_at", DateTime(timezone=True)),
)

disputes = Table(
    "disputes",
    metadata,
    Column("dispute_id", String, primary_key=True),
    Column("payment_id", String),
    Column("amount", BigInteger),
    Column("currency", String),
    #: Stripe's word.
    Column("status", String),
    #: When Stripe said so, in its own seconds; within one second the later stage counts.
    Column("told_at", BigInteger),
    Column("stage", Integer),
)

#: What credits were spent on: pictures, videos, captions. A caption is a job that no list shows.
jobs = Table(
    "jobs",
    metadata,
    Column("id", String, primary_key=True),
    #: Of the call that made it; its charge has the same.
    Column("operation_id", String),
    Column("account_id", String),
    Column("user_id", String),
    #: The account's when the job was made: its storage limit goes by it.
    Column("tier", String),
    #: The reach of the token that made it; null: all brands (decisions "Who sees and pays what").
    Column("token_brand_ids", ARRAY(String)),
    Column("brand_id", String),
    #: image, image_edit, video or caption
    Column("kind", String),
    #: processing, completed or failed
    Column("state", String),
    #: As the client wrote it, and as the provider is told.
    Column("prompt", String),
    Column("brief", String),
    Column("aspect_ratio", String),
    Column("model", String),
    #: A video's image, one of the two.
    Column("source_url", String),
    Column("source_media_id", String),
    Column("credits", Integer),
    #: 0 once they were refunded.
    Column("credits_charged", Integer),
    Column("created_at", DateTime(timezone=True)),
    Column("completed_at", DateTime(timezone=True)),
    #: Goes up with every claim: what an earlier holder still wants to write is void.
    Column("fence", BigInteger),
    #: Real time. The claim lapses; of a video between two steps: when the next one is due.
    Column("wake_at", DateTime(timezone=True)),
    #: How often the provider was asked to begin the video.
    Column("starts", Integer),
    #: Who makes the video, and its name for it.
    Column("provider", String),
    Column("provider_operation", String),
    #: The upload whose bytes are in storage, before it is committed.
    Column("upload_id", String),
    Column("upload_bytes", BigInteger),
    #: The file as media answered.
    Column("media", JSONB(none_as_null=True)),
    Column("caption", String),
    Column("error_code", String),
    Column("error", String),
    #: W3C's, of the request: what is done behind its back goes on with its trace.
    Column("traceparent", String),
)

#: The job that each operation has made.
operations = chassis_operations.operations.to_metadata(metadata)
