"""Creates AI jobs, which include captions."""

from alembic import op

revision = "0002"
down_revision = "0001"

JOBS = """
CREATE TABLE jobs (
    id text PRIMARY KEY,
    operation_id text NOT NULL UNIQUE,
    account_id text NOT NULL,
    user_id text NOT NULL,
    tier text NOT NULL,
    token_brand_ids text[],
    brand_id text,
    kind text NOT NULL CHECK (kind IN ('image', 'image_edit', 'video', 'caption')),
    state text NOT NULL CHECK (state IN ('processing', 'completed', 'failed')),
    prompt text NOT NULL,
    brief text NOT NULL,
    aspect_ratio text,
    model text,
    source_url text,
    source_media_id text,
    credits integer NOT NULL CHECK (credits > 0),
    credits_charged integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_now(),
    completed_at timestamptz,
    fence bigint NOT NULL DEFAULT 1,
    wake_at timestamptz,
    starts integer NOT NULL DEFAULT 0,
    provider text,
    provider_operation text,
    upload_id text,
    upload_bytes bigint,
    media jsonb,
    caption text,
    error_code text,
    error text,
    CHECK (credits_charged = CASE state WHEN 'failed' THEN 0 ELSE credits END),
    CHECK ((state = 'processing') = (wake_at IS NOT NULL)),
    CHECK ((state = 'processing') = (completed_at IS NULL)),
    CHECK (state <> 'completed' OR media IS NOT NULL OR caption IS NOT NULL)
);
CREATE INDEX jobs_of_account ON jobs (account_id, created_at DESC, id DESC) WHERE kind <> 'caption';
CREATE INDEX jobs_running ON jobs (wake_at) WHERE state = 'processing';
CREATE INDEX jobs_captions ON jobs (created_at) WHERE kind = 'caption';
"""


def upgrade() -> None:
    op.execute(JOBS)
