"""The tables of the AI service, for SQLAlchemy statements. The migrations create them."""

from sqlalchemy import BigInteger, Boolean, Column, Date, DateTime, Integer, MetaData, String, Table
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from chassis.db import operations as chassis_operations

metadata = MetaData()

#: The ledger: one row per entry. Its legs are columns that add up to zero (see the migration). Append-only.
entries = Table(
    "entries",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("account_id", String),
    Column("kind", String),
    #: Unique within its kind.
    Column("operation_id", String),
    #: The first day of the month (UTC) whose plan credits the entry is about.
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

#: The owners' auto-refill settings. `due_at` (business time) is when the worker checks the balance next.
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
    #: W3C traceparent of the call that made it due.
    Column("traceparent", String),
)

#: One row per requested payment, written before the provider is called.
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
    #: Business time: right before the order was last sent.
    Column("sent_at", DateTime(timezone=True)),
    #: W3C traceparent of the charge that left too few credits.
    Column("traceparent", String),
)

#: One row per payment that Stripe reported. `account_id` is null until its purchase is known.
payments = Table(
    "payments",
    metadata,
    #: Stripe's PaymentIntent, `pi_…`.
    Column("payment_id", String, primary_key=True),
    Column("account_id", String),
    #: The credits that it bought.
    Column("credits", Integer),
    #: What was paid and what has been refunded, in the currency's smallest unit.
    Column("amount", BigInteger),
    Column("currency", String),
    Column("refunded", BigInteger),
    #: Stripe's time of the event, in seconds. An older event is ignored.
    Column("refunded_at", BigInteger),
    #: How many of its credits are taken back at present.
    Column("clawed_back", Integer),
    #: How many ledger entries were made for it; they are numbered.
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
    #: The status in Stripe's words.
    Column("status", String),
    #: Stripe's time of the event, in seconds. Within one second the later stage counts.
    Column("told_at", BigInteger),
    Column("stage", Integer),
)

#: What credits were spent on: images, videos, captions. Lists do not show captions.
jobs = Table(
    "jobs",
    metadata,
    Column("id", String, primary_key=True),
    #: The operation id of the call that made it; its charge has the same.
    Column("operation_id", String),
    Column("account_id", String),
    Column("user_id", String),
    #: The account's tier when the job was made: its storage limit applies.
    Column("tier", String),
    #: The brands that the token could reach; null: all (decisions "Who sees and pays what").
    Column("token_brand_ids", ARRAY(String)),
    Column("brand_id", String),
    #: image, image_edit, video or caption
    Column("kind", String),
    #: processing, completed or failed
    Column("state", String),
    #: The client's prompt, and the text that is sent to the provider.
    Column("prompt", String),
    Column("brief", String),
    Column("aspect_ratio", String),
    Column("model", String),
    #: The image of a video: a URL or a media id.
    Column("source_url", String),
    Column("source_media_id", String),
    Column("credits", Integer),
    #: 0 once refunded.
    Column("credits_charged", Integer),
    Column("created_at", DateTime(timezone=True)),
    Column("completed_at", DateTime(timezone=True)),
    #: Goes up with every claim. A worker with an older fence must not write.
    Column("fence", BigInteger),
    #: Real time: when the claim lapses, or when the next step of a video is due.
    Column("wake_at", DateTime(timezone=True)),
    #: How often the provider was asked to start the video.
    Column("starts", Integer),
    #: The provider that makes the video, and its id of the operation.
    Column("provider", String),
    Column("provider_operation", String),
    #: The upload whose bytes are in storage but not committed yet.
    Column("upload_id", String),
    Column("upload_bytes", BigInteger),
    #: The file as media returned it.
    Column("media", JSONB(none_as_null=True)),
    Column("caption", String),
    Column("error_code", String),
    Column("error", String),
    #: W3C traceparent of the request, for work in the background.
    Column("traceparent", String),
)

#: Which job each operation has made.
operations = chassis_operations.operations.to_metadata(metadata)
