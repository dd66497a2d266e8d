"""The quota service's tables, as its statements see them; the migrations make them."""

from sqlalchemy import Boolean, Column, Date, DateTime, Integer, MetaData, String, Table

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

#: Month units an operation holds: taken once however often it is tried, given back at most once.
unit_charges = Table(
    "unit_charges",
    metadata,
    Column("operation_id", String, primary_key=True),
    Column("account_id", String),
    Column("year_month", String),
    Column("bucket", String),
    Column("units", Integer),
    #: The call itself gave units back already; what is left went out, or is not known yet.
    Column("refunded", Boolean),
    Column("created_at", DateTime(timezone=True)),
)
