"""The service's tables, for SQLAlchemy statements. A test compares them with the migrations."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

metadata = MetaData()
_TIME = DateTime(timezone=True)

#: Reserved storage while bytes arrive. A row ends as media or as a removal.
uploads = Table(
    "uploads",
    metadata,
    Column("id", Text, primary_key=True),
    Column("account_id", Text, nullable=False),
    #: The brands of the token that made it; empty: an unrestricted token.
    Column("brand_ids", ARRAY(Text), nullable=False),
    #: Of generated files and multipart uploads. Uploads through the gateway are not idempotent.
    Column("operation_id", Text),
    Column("generated", Boolean, nullable=False),
    #: The object is `key/slug`.
    Column("key", Text, nullable=False),
    Column("filename", Text, nullable=False),
    Column("slug", Text, nullable=False),
    Column("mime_type", Text, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    #: The storage's id of a multipart upload.
    Column("parts_id", Text),
    Column("part_size_bytes", BigInteger),
    Column("created_at", _TIME, nullable=False),
    Column("expires_at", _TIME, nullable=False),
    #: Real time: until then a call is inspecting the bytes.
    Column("lease_until", _TIME),
    #: The size without metadata, noted before the object is replaced.
    Column("replaced_bytes", BigInteger),
    UniqueConstraint("key"),
    Index("uploads_of_account", "account_id"),
    Index("uploads_expiring", "expires_at"),
)

media = Table(
    "media",
    metadata,
    Column("id", Text, primary_key=True),
    Column("upload_id", Text, nullable=False),
    Column("account_id", Text, nullable=False),
    Column("brand_ids", ARRAY(Text), nullable=False),
    Column("operation_id", Text),
    Column("generated", Boolean, nullable=False),
    Column("key", Text, nullable=False),
    Column("filename", Text, nullable=False),
    Column("slug", Text, nullable=False),
    Column("mime_type", Text, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    #: As displayed.
    Column("width", Integer),
    Column("height", Integer),
    Column("duration_seconds", Double),
    Column("frame_rate", Double),
    #: ffmpeg's names of them; null: a photo, or stored by an earlier release.
    Column("video_codec", Text),
    Column("audio_codec", Text),
    #: The size of the JPEG copy that an earlier release has made.
    Column("jpeg_size_bytes", BigInteger),
    #: Of the thumbnail; null: there is none yet, 0: none can be made. It does not count against the quota.
    Column("thumbnail_size_bytes", BigInteger),
    #: Real time: when the thumbnail is made, or tried again.
    Column("thumbnail_due_at", _TIME, nullable=False, server_default=func.now()),
    Column("created_at", _TIME, nullable=False),
    #: When it was first attached to a stored post.
    Column("attached_at", _TIME),
    #: When it was first published: it stops counting, unless a pending post has it.
    Column("published_at", _TIME),
    UniqueConstraint("upload_id"),
    UniqueConstraint("key"),
    Index("media_newest", "account_id", text("created_at DESC"), text("id DESC")),
    Index(
        "media_newest_restricted",
        "account_id",
        "brand_ids",
        text("created_at DESC"),
        text("id DESC"),
        postgresql_where=text("brand_ids <> '{}'"),
    ),
    Index("media_counted", "account_id", postgresql_where=text("published_at IS NULL")),
    Index(
        "media_of_operation", "account_id", "operation_id", unique=True, postgresql_where=text("generated")
    ),
    Index(
        "media_without_thumbnail", "thumbnail_due_at", postgresql_where=text("thumbnail_size_bytes IS NULL")
    ),
    Index("media_unused", "created_at", postgresql_where=text("generated AND attached_at IS NULL")),
)

#: Files made of media to fit what a platform takes (`contracts.renditions`). They do not count against the quota.
renditions = Table(
    "renditions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("media_id", Text, ForeignKey("media.id", ondelete="CASCADE"), nullable=False),
    #: `Need.key`, and the `Need`.
    Column("need_key", Text, nullable=False),
    Column("need", JSONB, nullable=False),
    #: photo or video: of the media.
    Column("kind", Text, nullable=False),
    #: pending, made, failed, or unneeded: its object is about to be removed.
    Column("state", Text, nullable=False),
    #: The object is `key/slug`, with the media's key.
    Column("slug", Text, nullable=False),
    Column("size_bytes", BigInteger),
    Column("width", Integer),
    Column("height", Integer),
    Column("duration_seconds", Double),
    #: Of a failed one: why, for people.
    Column("failure", Text),
    #: When a post last asked for it.
    Column("asked_at", _TIME, nullable=False),
    #: The share that is made, from 0 to 1, while a process makes a video's.
    Column("progress", Double),
    #: How often it was claimed.
    Column("tries", Integer, nullable=False, server_default=text("0")),
    #: Real time: until then a process makes it, or nobody tries again.
    Column("lease_until", _TIME),
    Index(
        "renditions_of_media",
        "media_id",
        "need_key",
        unique=True,
        postgresql_where=text("state <> 'unneeded'"),
    ),
    Index("renditions_cascade", "media_id"),
    Index("renditions_pending", "kind", "asked_at", postgresql_where=text("state = 'pending'")),
    Index("renditions_asked", "asked_at"),
)

#: Media of posts that are pending (confirmed) or about to be stored.
attachments = Table(
    "attachments",
    metadata,
    Column("media_id", Text, ForeignKey("media.id"), primary_key=True),
    Column("post_id", Text, primary_key=True),
    Column("account_id", Text, nullable=False),
    Column("confirmed", Boolean, nullable=False),
    Column("created_at", _TIME, nullable=False),
    #: The operation that first attached it; null: the post's event did.
    Column("operation_id", Text),
    #: The revision of the post that holds the file; 0: attached by the previous release, which sent none.
    Column("revision", BigInteger, nullable=False, server_default=text("0")),
    Index("attachments_of_post", "post_id"),
    Index("attachments_of_account", "account_id"),
    Index("attachments_provisional", "created_at", postgresql_where=text("NOT confirmed")),
    Index("attachments_of_operation", "operation_id", postgresql_where=text("NOT confirmed")),
)

#: The newest revision known from `post.media` of each post.
posts = Table(
    "posts",
    metadata,
    Column("id", Text, primary_key=True),
    Column("revision", BigInteger, nullable=False),
    #: Real time.
    Column("told_at", _TIME, nullable=False),
    Index("posts_told", "told_at"),
)

#: What each client operation deleted, for repeated calls.
deletions = Table(
    "deletions",
    metadata,
    Column("operation_id", Text, primary_key=True),
    Column("account_id", Text, nullable=False),
    Column("media_id", Text, nullable=False),
    Column("deleted_at", _TIME, nullable=False),
    Index("deletions_old", "deleted_at"),
)

#: Keys whose objects and multipart uploads must be deleted.
removals = Table(
    "removals",
    metadata,
    Column("key", Text, primary_key=True),
    Column("slug", Text, nullable=False),
    Column("parts_id", Text),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    #: Real time.
    Column("due_at", _TIME, nullable=False),
    Index("removals_due", "due_at"),
)

#: When periodic work of one replica is due next.
chores = Table(
    "chores",
    metadata,
    Column("name", Text, primary_key=True),
    Column("due_at", _TIME, nullable=False),
    #: How far it has come; null: from the beginning.
    Column("position", Text),
)
