"""The quota service's tables, as its statements see them; the migrations make them."""

from sqlalchemy import Column, Date, DateTime, Integer, MetaData, String, Table

metadata = MetaData()

#: One row per account or sandbox token: what it used of its current windows.
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
    #: Requests a sandbox token made in its life.
    Column("lifetime", Integer),
)

#: The month unit an operation holds (`quota.charges`). The release before this one also writes `units` and `refunded`.
unit_charges = Table(
    "unit_charges",
    metadata,
    Column("operation_id", String, primary_key=True),
    Column("account_id", String),
    Column("year_month", String),
    Column("bucket", String),
    Column("try_number", Integer),
    Column("returned_to_try", Integer),
    #: Of the last charge, or the return that came before any; real time, like the age of the call behind it.
    Column("created_at", DateTime(timezone=True)),
)

#: One row: the last charge that publishing was asked about, in the order of (created_at, operation_id).
confirmation = Table(
    "confirmation",
    metadata,
    Column("created_at", DateTime(timezone=True)),
    Column("operation_id", String),
)
