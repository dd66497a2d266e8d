"""The tables of the quota database, as the statements use them; migrations/ creates them."""

from sqlalchemy import Column, Date, DateTime, Integer, MetaData, String, Table

metadata = MetaData()

#: One row per account or sandbox token: its use in the current windows.
counters = Table(
    "counters",
    metadata,
    Column("subject", String, primary_key=True),
    Column("minute_at", DateTime(timezone=True)),
    Column("minute_count", Integer),
    Column("day", Date),
    Column("day_count", Integer),
    Column("year_month", String),
    Column("publishes", Integer),
    Column("replies", Integer),
    Column("reads", Integer),
    Column("webhooks", Integer),
    Column("writes", Integer),
    Column("total", Integer),
    #: Bit n: the month's warning about `contracts.plans.BUCKETS[n]` was sent.
    Column("warned", Integer),
    #: Total requests of a sandbox token.
    Column("lifetime", Integer),
)

#: The month unit an operation holds (`quota.charges`).
unit_charges = Table(
    "unit_charges",
    metadata,
    Column("operation_id", String, primary_key=True),
    Column("account_id", String),
    Column("year_month", String),
    Column("bucket", String),
    Column("try_number", Integer),
    Column("returned_to_try", Integer),
    #: Real time of the last charge, or of a return that came before any charge.
    Column("created_at", DateTime(timezone=True)),
)

#: One row: the last charge that the publishing service was asked about, in the order of (created_at, operation_id).
confirmation = Table(
    "confirmation",
    metadata,
    Column("created_at", DateTime(timezone=True)),
    Column("operation_id", String),
)
