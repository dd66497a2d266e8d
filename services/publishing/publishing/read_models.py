"""The table of how far people have read the comments of brands. `models` has the other tables that posts need."""

from sqlalchemy import Column, DateTime, Table, Text

from publishing.models import comments

#: Until when a person has read the comments of a brand. It only ever becomes later.
comment_reads = Table(
    "comment_reads",
    comments.metadata,
    Column("user_id", Text, primary_key=True),
    Column("brand_id", Text, primary_key=True),
    Column("read_until", DateTime(timezone=True), nullable=False),
)
