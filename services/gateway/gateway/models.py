"""Tables of the gateway's own database."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    text,
)

metadata = MetaData()

#: One row per token and idempotency key, kept for 24 hours. `status` is null until the answer is stored.
idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("token_id", String, primary_key=True),
    Column("key", String, primary_key=True),
    Column("fingerprint", LargeBinary, nullable=False),
    Column("operation_id", String, nullable=False),
    #: Increases with every take-over, so that a request that has lost its lock cannot write.
    Column("fence", Integer, nullable=False),
    #: Until when the request that holds the key may run; real database time, never shifted.
    Column("locked_until", DateTime(timezone=True), nullable=False),
    Column("status", Integer),
    #: The answer's own headers, a JSON object.
    Column("headers", LargeBinary),
    Column("body", LargeBinary),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Index("idempotency_keys_created_at", "created_at"),
)

#: One row per request of an account, kept for `REQUEST_LOG_DAYS`. The primary key is the order of the list.
request_log = Table(
    "request_log",
    metadata,
    Column("account_id", String, primary_key=True),
    Column("at", DateTime(timezone=True), primary_key=True),
    Column("id", String, primary_key=True),
    Column("token_id", String, nullable=False),
    Column("method", String, nullable=False),
    Column("path", String, nullable=False),
    Column("operation", String, nullable=False),
    Column("status", SmallInteger, nullable=False),
    #: The error's code.
    Column("code", String),
    Column("request_id", String, nullable=False),
    Column("duration_ms", Integer, nullable=False),
    Column("replayed", Boolean, nullable=False),
    #: The operation id of a write; null for a read, and for requests before 1.4.0.
    Column("operation_id", String),
    Index("request_log_at", "at"),
    Index("request_log_writes", "request_id", postgresql_where=text("operation_id IS NOT NULL")),
)

#: One row per account and UTC day with requests, kept for 400 days.
request_days = Table(
    "request_days",
    metadata,
    Column("account_id", String, primary_key=True),
    Column("day", Date, primary_key=True),
    Column("requests", BigInteger, nullable=False),
    Column("reads", BigInteger, nullable=False),
    Column("writes", BigInteger, nullable=False),
    #: Accepted requests that publish or schedule, and those that reply; without replays.
    Column("publishes", BigInteger, nullable=False),
    Column("replies", BigInteger, nullable=False),
    #: Answered with 4xx, and with 5xx.
    Column("refused", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
)
