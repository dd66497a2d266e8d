"""Creates uploads in progress, media, their attachments, and objects to be removed."""

from alembic import op

from chassis.db.schema import create_chassis_schema

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

UPLOADS = """
CREATE TABLE uploads (
    id text PRIMARY KEY,
    account_id text NOT NULL,
    brand_ids text[] NOT NULL,
    operation_id text,
    generated boolean NOT NULL,
    key text NOT NULL UNIQUE,
    filename text NOT NULL,
    slug text NOT NULL,
    mime_type text NOT NULL,
    size_bytes bigint NOT NULL,
    parts_id text,
    part_size_bytes bigint,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    lease_until timestamptz
)
"""
MEDIA = """
CREATE TABLE media (
    id text PRIMARY KEY,
    upload_id text NOT NULL UNIQUE,
    account_id text NOT NULL,
    brand_ids text[] NOT NULL,
    operation_id text,
    generated boolean NOT NULL,
    key text NOT NULL UNIQUE,
    filename text NOT NULL,
    slug text NOT NULL,
    mime_type text NOT NULL,
    size_bytes bigint NOT NULL,
    width integer,
    height integer,
    duration_seconds double precision,
    jpeg_size_bytes bigint,
    created_at timestamptz NOT NULL,
    attached_at timestamptz,
    published_at timestamptz
)
"""
ATTACHMENTS = """
CREATE TABLE attachments (
    media_id text NOT NULL REFERENCES media (id),
    post_id text NOT NULL,
    account_id text NOT NULL,
    confirmed boolean NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (media_id, post_id)
)
"""
POSTS = """
CREATE TABLE posts (
    id text PRIMARY KEY,
    revision bigint NOT NULL,
    told_at timestamptz NOT NULL
)
"""
REMOVALS = """
CREATE TABLE removals (
    key text PRIMARY KEY,
    slug text NOT NULL,
    parts_id text,
    attempts integer NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL
)
"""
CHORES = "CREATE TABLE chores (name text PRIMARY KEY, due_at timestamptz NOT NULL)"
INDEX_STATEMENTS = (
    "CREATE INDEX uploads_of_account ON uploads (account_id)",
    "CREATE INDEX uploads_expiring ON uploads (expires_at)",
    "CREATE INDEX media_newest ON media (account_id, created_at DESC, id DESC)",
    "CREATE INDEX media_counted ON media (account_id) WHERE published_at IS NULL",
    "CREATE UNIQUE INDEX media_of_operation ON media (account_id, operation_id) WHERE generated",
    "CREATE INDEX media_unused ON media (created_at) WHERE generated AND attached_at IS NULL",
    "CREATE INDEX attachments_of_post ON attachments (post_id)",
    "CREATE INDEX attachments_of_account ON attachments (account_id)",
    "CREATE INDEX attachments_provisional ON attachments (created_at) WHERE NOT confirmed",
    "CREATE INDEX posts_told ON posts (told_at)",
    "CREATE INDEX removals_due ON removals (due_at)",
)


def upgrade() -> None:
    create_chassis_schema(op)
    for statement in (UPLOADS, MEDIA, ATTACHMENTS, POSTS, REMOVALS, CHORES, *INDEX_STATEMENTS):
        op.execute(statement)
