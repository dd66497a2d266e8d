"""Tables of the gateway's own database."""

from sqlalchemy import Column, DateTime, Index, Integer, LargeBinary, MetaData, String, Table

metadata = MetaData()

#: One row per token and idempotency key, for 24 hours. `status` is null while no answer is stored.
idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("token_id", String, primary_key=True),
    Column("key", String, primary_key=True),
    Column("fingerprint", LargeBinary, nullable=False),
    Column("operation_id", String, nullable=False),
    #: Grows with every take-over: a request that lost its lock can no longer write.
    Column("fence", Integer, nullable=False),
    #: Database time that is never shifted: until then the request that holds the key runs.
    Column("locked_until", DateTime(timezone=True), nullable=False),
    Column("status", Integer),
    #: JSON object of the answer's own headers.
    Column("headers", LargeBinary),
    Column("body", LargeBinary),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Index("idempotency_keys_created_at", "created_at"),
)
