"""Creates users, brands, collaborators, tokens and the audit log."""

from alembic import op

from chassis.db.schema import create_chassis_schema

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TABLES = """
CREATE TABLE users (
    id text PRIMARY KEY,
    email text NOT NULL UNIQUE,
    password_hash text,
    firstname text NOT NULL,
    lastname text NOT NULL,
    tier text NOT NULL,
    created_at timestamptz NOT NULL,
    operation_id text UNIQUE
);
CREATE TABLE brands (
    id text PRIMARY KEY,
    account_id text NOT NULL REFERENCES users (id),
    name text NOT NULL,
    description text,
    logo text,
    timezone text NOT NULL,
    image_guidelines text,
    caption_guidelines text,
    created_at timestamptz NOT NULL,
    operation_id text UNIQUE
);
CREATE INDEX brands_of_account ON brands (account_id, created_at, id);
CREATE TABLE collaborators (
    brand_id text NOT NULL REFERENCES brands (id),
    user_id text NOT NULL REFERENCES users (id),
    role text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (brand_id, user_id)
);
CREATE TABLE tokens (
    id text PRIMARY KEY,
    account_id text NOT NULL REFERENCES users (id),
    token_sha256 text NOT NULL UNIQUE,
    name text NOT NULL,
    prefix text NOT NULL,
    scopes text[] NOT NULL,
    brand_ids text[] NOT NULL,
    ip_allowlist text[] NOT NULL,
    expires_at timestamptz,
    last_used_at timestamptz,
    request_count bigint NOT NULL DEFAULT 0,
    revoked_at timestamptz,
    created_at timestamptz NOT NULL,
    sandbox boolean NOT NULL,
    on_behalf_of_brand_id text REFERENCES brands (id),
    issued_by_collaborator_id text REFERENCES users (id),
    operation_id text UNIQUE
) WITH (fillfactor = 80);  -- room for request counts to change in place
CREATE INDEX tokens_of_account ON tokens (account_id, created_at, id);
CREATE INDEX tokens_of_collaborator ON tokens (on_behalf_of_brand_id, issued_by_collaborator_id)
    WHERE issued_by_collaborator_id IS NOT NULL;
CREATE TABLE audit_entries (
    id text PRIMARY KEY,
    brand_id text NOT NULL REFERENCES brands (id),
    actor_id text NOT NULL,
    action text NOT NULL,
    subject_id text NOT NULL,
    created_at timestamptz NOT NULL,
    details jsonb NOT NULL
);
CREATE INDEX audit_of_brand ON audit_entries (brand_id, created_at, id);
"""


def upgrade() -> None:
    create_chassis_schema(op)
    op.execute(TABLES)
