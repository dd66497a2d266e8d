"""Creates the credit ledger, auto-refill settings and requested refills."""

from alembic import op

from chassis.db.schema import create_chassis_schema

revision = "0001"
down_revision = None

#: One row per customer; writers lock it.
LEDGERS = """
CREATE TABLE ledgers (
    account_id text PRIMARY KEY,
    opened_at timestamptz NOT NULL DEFAULT clock_now()
)
"""

#: An entry is one row and its legs are columns: negative for what left an account of the book, positive for what
#: entered. plan, referral and bought are the customer's; credits come from issued and go to lapsed and spent.
ENTRIES = """
CREATE TABLE entries (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id text NOT NULL REFERENCES ledgers,
    kind text NOT NULL,
    operation_id text NOT NULL,
    month date NOT NULL CHECK (extract(day FROM month) = 1),
    plan integer NOT NULL DEFAULT 0,
    referral integer NOT NULL DEFAULT 0,
    bought integer NOT NULL DEFAULT 0,
    issued integer NOT NULL DEFAULT 0,
    lapsed integer NOT NULL DEFAULT 0,
    spent integer NOT NULL DEFAULT 0,
    job_id text,
    action text,
    created_at timestamptz NOT NULL DEFAULT clock_now(),
    CONSTRAINT entries_once UNIQUE (kind, operation_id),
    CONSTRAINT entries_debits_equal_credits CHECK (plan + referral + bought + issued + lapsed + spent = 0),
    CONSTRAINT entries_legs_of_kind CHECK (CASE kind
        WHEN 'grant' THEN plan > 0 AND issued = -plan AND referral = 0 AND bought = 0 AND lapsed = 0
        WHEN 'carry' THEN plan > 0 AND issued = -plan AND referral = 0 AND bought = 0 AND lapsed = 0
        WHEN 'lapse' THEN plan < 0 AND lapsed = -plan AND referral = 0 AND bought = 0 AND issued = 0
        WHEN 'referral' THEN referral > 0 AND issued = -referral AND plan = 0 AND bought = 0 AND lapsed = 0
        WHEN 'purchase' THEN bought > 0 AND issued = -bought AND plan = 0 AND referral = 0 AND lapsed = 0
        WHEN 'auto_refill' THEN bought > 0 AND issued = -bought AND plan = 0 AND referral = 0 AND lapsed = 0
        WHEN 'charge' THEN plan <= 0 AND referral <= 0 AND bought <= 0 AND spent > 0 AND issued = 0 AND lapsed = 0
        WHEN 'refund' THEN plan >= 0 AND referral >= 0 AND bought >= 0 AND spent < 0 AND issued = 0 AND lapsed = 0
        ELSE false END)
);
CREATE INDEX entries_of_account ON entries (account_id, id) INCLUDE (plan, referral, bought);
CREATE INDEX entries_granted ON entries (account_id, month) INCLUDE (kind, plan) WHERE kind IN ('grant', 'carry');
"""

#: The sum of an account's entries up to one of them, so that readers add up only the later ones. Whatever is inserted,
#: the trigger replaces the sums with those of all entries from the first one on.
CLOSINGS = """
CREATE TABLE closings (
    account_id text NOT NULL REFERENCES ledgers,
    through_id bigint NOT NULL REFERENCES entries,
    plan bigint NOT NULL,
    referral bigint NOT NULL,
    bought bigint NOT NULL,
    PRIMARY KEY (account_id, through_id)
);
CREATE FUNCTION derive_closing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT sum(plan), sum(referral), sum(bought) INTO NEW.plan, NEW.referral, NEW.bought
    FROM entries WHERE account_id = NEW.account_id AND id <= NEW.through_id;
    RETURN NEW;
END $$;
CREATE TRIGGER closings_derived BEFORE INSERT ON closings FOR EACH ROW EXECUTE FUNCTION derive_closing();
"""

APPEND_ONLY = """
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: a mistake is put right by another entry', TG_TABLE_NAME;
END $$;
CREATE TRIGGER entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON entries
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER closings_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON closings
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
"""

#: due_at: when the balance is checked next. tier: as last seen, since the month's grant is a part of the balance.
AUTO_REFILLS = """
CREATE TABLE auto_refills (
    account_id text PRIMARY KEY REFERENCES ledgers,
    tier text NOT NULL,
    enabled boolean NOT NULL,
    threshold integer NOT NULL CHECK (threshold >= 0),
    credits integer NOT NULL CHECK (credits > 0),
    customer text,
    payment_method text,
    due_at timestamptz,
    CHECK (enabled OR due_at IS NULL)
);
CREATE INDEX auto_refills_due ON auto_refills (due_at) WHERE due_at IS NOT NULL;
"""

#: Written before the provider is called. The id is the provider's idempotency key, and the whole request is stored, so
#: that it can be repeated unchanged. created_at is business time, began_at and look_at real time.
REFILLS = """
CREATE TABLE refills (
    id text PRIMARY KEY,
    account_id text NOT NULL REFERENCES ledgers,
    credits integer NOT NULL CHECK (credits > 0),
    price_cents integer NOT NULL CHECK (price_cents > 0),
    customer text NOT NULL,
    payment_method text NOT NULL,
    state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'paid', 'failed')),
    payment_id text UNIQUE,
    error text,
    asked_count integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_now(),
    began_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    look_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE UNIQUE INDEX refills_one_open ON refills (account_id) WHERE state = 'open';
CREATE INDEX refills_to_look_at ON refills (look_at) WHERE state = 'open';
CREATE INDEX refills_of_account ON refills (account_id, created_at);
"""


def upgrade() -> None:
    create_chassis_schema(op)
    for statements in (LEDGERS, ENTRIES, CLOSINGS, APPEND_ONLY, AUTO_REFILLS, REFILLS):
        op.execute(statements)
