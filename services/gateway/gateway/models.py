"""Tables of the gateway's own database."""

from sqlalchemy import Column, DateTime, Index, Integer, LargeBinary, MetaData, String, Table

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
