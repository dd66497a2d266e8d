"""Creates pages, posts with their attempts, comments and replies."""

from alembic import op

from chassis.db.schema import create_chassis_schema

revision = "0001"
down_revision = None

PAGES = """
CREATE TABLE pages (
    id text PRIMARY KEY,
    account_id text NOT NULL,
    brand_id text NOT NULL,
    brand_name text NOT NULL,
    platform text NOT NULL,
    remote_account_id text NOT NULL,
    access_token text NOT NULL,
    name text NOT NULL,
    username text,
    followers bigint NOT NULL,
    picture text,
    expired boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL,
    UNIQUE (brand_id, platform, remote_account_id)
);
CREATE INDEX pages_of_account ON pages (account_id, created_at DESC, id DESC);
"""

POSTS = """
CREATE TABLE posts (
    id text PRIMARY KEY,
    operation_id text UNIQUE,
    account_id text NOT NULL,
    brand_id text NOT NULL,
    page_id text NOT NULL REFERENCES pages,
    platform text NOT NULL,
    origin text NOT NULL CHECK (origin IN ('scheduled', 'immediate')),
    message text,
    media_ids text[] NOT NULL,
    media_urls text[] NOT NULL,
    media_types text[],
    first_comment text,
    settings jsonb,
    created_at timestamptz NOT NULL,
    scheduled_at timestamptz NOT NULL,
    state text NOT NULL CHECK (state IN ('queued', 'sending', 'unknown', 'published', 'failed', 'cancelled')),
    out_at timestamptz,
    attempts integer NOT NULL DEFAULT 0,
    attempts_before integer NOT NULL DEFAULT 0,
    fence bigint NOT NULL DEFAULT 0,
    lease_until timestamptz,
    unknown_since timestamptz,
    checkpoint jsonb,
    remote_id text,
    permalink text,
    error_code text,
    error_message text,
    likes bigint NOT NULL DEFAULT 0,
    comments bigint NOT NULL DEFAULT 0,
    shares bigint NOT NULL DEFAULT 0,
    comment_state text CHECK (comment_state IN ('due', 'sending', 'unknown', 'done', 'failed')),
    comment_wake_at timestamptz,
    comment_began_at timestamptz,
    comment_attempts integer NOT NULL DEFAULT 0,
    comment_fence bigint NOT NULL DEFAULT 0,
    CHECK ((out_at IS NULL) = (state IN ('failed', 'cancelled')))
);
CREATE INDEX posts_due ON posts (out_at) WHERE state = 'queued';
CREATE INDEX posts_queued_of_page ON posts (page_id, scheduled_at, id) WHERE state = 'queued';
CREATE INDEX posts_held ON posts (lease_until) WHERE state IN ('sending', 'unknown');
CREATE INDEX posts_sending_of_page ON posts (page_id) WHERE state = 'sending';
CREATE INDEX posts_out_of_page ON posts (page_id, out_at) WHERE out_at IS NOT NULL;
CREATE INDEX posts_out_of_brand ON posts (brand_id, out_at) WHERE out_at IS NOT NULL;
CREATE INDEX posts_scheduled ON posts (account_id, scheduled_at, id) WHERE origin = 'scheduled';
CREATE INDEX posts_published ON posts (account_id, out_at DESC, id DESC) WHERE state = 'published';
CREATE INDEX posts_comment_due ON posts (comment_wake_at) WHERE comment_state IN ('due', 'sending', 'unknown');
CREATE UNIQUE INDEX posts_remote ON posts (page_id, remote_id) WHERE remote_id IS NOT NULL;
CREATE TABLE attempts (
    post_id text NOT NULL REFERENCES posts,
    number integer NOT NULL,
    fence bigint NOT NULL,
    began_at timestamptz NOT NULL,
    ended_at timestamptz,
    outcome text CHECK (outcome IN ('published', 'refused', 'not_published', 'given_up')),
    error_code text,
    error_message text,
    PRIMARY KEY (post_id, number)
);
CREATE UNIQUE INDEX attempts_open ON attempts (post_id) WHERE outcome IS NULL;
"""

COMMENTS = """
CREATE TABLE comments (
    id text PRIMARY KEY,
    post_id text NOT NULL REFERENCES posts,
    remote_id text NOT NULL,
    created_at timestamptz NOT NULL,
    UNIQUE (post_id, remote_id)
);
CREATE TABLE replies (
    id text PRIMARY KEY,
    operation_id text UNIQUE,
    comment_id text NOT NULL REFERENCES comments,
    post_id text NOT NULL REFERENCES posts,
    message text NOT NULL,
    state text NOT NULL CHECK (state IN ('sending', 'unknown', 'done', 'failed')),
    fence bigint NOT NULL DEFAULT 1,
    lease_until timestamptz,
    began_at timestamptz NOT NULL,
    unknown_since timestamptz,
    remote_id text,
    created_at timestamptz NOT NULL
);
CREATE INDEX replies_open ON replies (lease_until) WHERE state IN ('sending', 'unknown');
CREATE INDEX replies_of_comment ON replies (comment_id);
"""


def upgrade() -> None:
    create_chassis_schema(op)
    for tables in (PAGES, POSTS, COMMENTS):
        op.execute(tables)
