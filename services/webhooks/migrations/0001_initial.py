"""Creates accounts with their tiers, subscriptions with their secrets, endpoint queues (`lanes`), events, deliveries
and attempts.
"""

from alembic import op

from chassis.db.schema import create_chassis_schema

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ACCOUNTS = """
CREATE TABLE accounts (
    id text PRIMARY KEY,
    tier text NOT NULL,
    told_by text NOT NULL DEFAULT '',
    told_at timestamptz NOT NULL DEFAULT clock_timestamp()
)
"""
SUBSCRIPTIONS = """
CREATE TABLE subscriptions (
    id text PRIMARY KEY,
    account_id text NOT NULL REFERENCES accounts (id),
    operation_id text,
    name text NOT NULL,
    url text NOT NULL,
    events text[] NOT NULL,
    brand_ids text[] NOT NULL,
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
    disabled_reason text,
    revision bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    deleted_at timestamptz,
    UNIQUE (account_id, operation_id)
)
"""
SECRETS = """
CREATE TABLE secrets (
    id text PRIMARY KEY,
    subscription_id text NOT NULL REFERENCES subscriptions (id) ON DELETE CASCADE,
    operation_id text,
    secret text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    UNIQUE (subscription_id, operation_id)
)
"""
LANES = """
CREATE TABLE lanes (
    subscription_id text PRIMARY KEY REFERENCES subscriptions (id) ON DELETE CASCADE,
    fence bigint NOT NULL DEFAULT 0,
    lease_until timestamptz,
    consecutive_failures integer NOT NULL DEFAULT 0,
    last_delivery_at timestamptz
) WITH (fillfactor = 50)
"""
EVENTS = """
CREATE TABLE events (
    id text PRIMARY KEY,
    event text NOT NULL,
    body bytea NOT NULL,
    received_at timestamptz NOT NULL
)
"""
DELIVERIES = """
CREATE TABLE deliveries (
    subscription_id text NOT NULL,
    id text NOT NULL,
    event_id text NOT NULL,
    event text NOT NULL,
    state text NOT NULL CHECK (state IN ('pending', 'delivered', 'failed', 'skipped')),
    due_at timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    failures integer NOT NULL DEFAULT 0,
    asked boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (subscription_id, id)
)
"""
ATTEMPTS = """
CREATE TABLE attempts (
    delivery_id text NOT NULL,
    number integer NOT NULL,
    at timestamptz NOT NULL,
    duration_ms integer NOT NULL,
    status_code integer,
    error text,
    answer text,
    PRIMARY KEY (delivery_id, number)
)
"""
ASKS = """
CREATE TABLE asks (
    operation_id text PRIMARY KEY,
    subscription_id text NOT NULL,
    delivery_id text NOT NULL,
    created_at timestamptz NOT NULL
)
"""
INDEX_STATEMENTS = (
    "CREATE INDEX subscriptions_newest ON subscriptions (account_id, created_at DESC, id DESC)"
    " WHERE deleted_at IS NULL",
    "CREATE INDEX subscriptions_resting ON subscriptions (id) WHERE status = 'disabled' OR deleted_at IS NOT NULL",
    "CREATE INDEX events_received ON events (received_at)",
    "CREATE INDEX deliveries_pending ON deliveries (subscription_id, due_at) WHERE state = 'pending'",
    "CREATE INDEX deliveries_missed ON deliveries (subscription_id, id) WHERE state IN ('failed', 'skipped')",
    "CREATE INDEX deliveries_created ON deliveries (created_at)",
    "CREATE INDEX asks_created ON asks (created_at)",
)


def upgrade() -> None:
    create_chassis_schema(op)
    tables = (ACCOUNTS, SUBSCRIPTIONS, SECRETS, LANES, EVENTS, DELIVERIES, ATTEMPTS, ASKS)
    for statement in (*tables, *INDEX_STATEMENTS):
        op.execute(statement)
