"""Adds payments with their refunds and disputes, and the ledger's entries for clawbacks.

The account `owed` is the customer's debt: credits that were taken back after the customer had spent them. It is
negative while there is a debt.
"""

from alembic import op

revision = "0009"
down_revision = "0008"

#: Not validated, to avoid a scan: earlier rows satisfied the same constraint with `owed` 0. New rows are checked.
ENTRIES = """
ALTER TABLE entries ADD COLUMN owed integer NOT NULL DEFAULT 0;
ALTER TABLE entries
    DROP CONSTRAINT entries_debits_equal_credits,
    ADD CONSTRAINT entries_debits_equal_credits
        CHECK (plan + referral + bought + owed + issued + lapsed + spent = 0) NOT VALID,
    DROP CONSTRAINT entries_legs_of_kind,
    ADD CONSTRAINT entries_legs_of_kind CHECK (CASE kind
        WHEN 'grant' THEN plan > 0 AND issued = -plan AND referral = 0 AND bought = 0 AND lapsed = 0
        WHEN 'carry' THEN plan > 0 AND issued = -plan AND referral = 0 AND bought = 0 AND lapsed = 0
        WHEN 'lapse' THEN plan < 0 AND lapsed = -plan AND referral = 0 AND bought = 0 AND issued = 0
        WHEN 'referral' THEN referral > 0 AND issued = -referral AND plan = 0 AND bought = 0 AND lapsed = 0
        WHEN 'purchase' THEN bought > 0 AND issued = -bought AND plan = 0 AND referral = 0 AND lapsed = 0
        WHEN 'auto_refill' THEN bought > 0 AND issued = -bought AND plan = 0 AND referral = 0 AND lapsed = 0
        WHEN 'charge' THEN plan <= 0 AND referral <= 0 AND bought <= 0 AND spent > 0 AND issued = 0 AND lapsed = 0
        WHEN 'refund' THEN plan >= 0 AND referral >= 0 AND bought >= 0 AND spent < 0 AND issued = 0 AND lapsed = 0
        WHEN 'clawback' THEN
            issued > 0 AND bought <= 0 AND owed <= 0 AND plan = 0 AND referral = 0 AND lapsed = 0 AND spent = 0
        WHEN 'reinstatement' THEN
            issued < 0 AND bought >= 0 AND owed >= 0 AND plan = 0 AND referral = 0 AND lapsed = 0 AND spent = 0
        WHEN 'collection' THEN
            owed > 0 AND bought = -owed AND plan = 0 AND referral = 0 AND issued = 0 AND lapsed = 0 AND spent = 0
        ELSE false END
        AND (owed = 0 OR kind IN ('clawback', 'reinstatement', 'collection'))) NOT VALID;
"""

#: One row per payment that Stripe reported; without an account its purchase is not known yet, and refunds and disputes
#: are stored until it is. amount and refunded are in the currency's smallest unit, refunded_at and told_at in Stripe's
#: seconds.
PAYMENTS = """
CREATE TABLE payments (
    payment_id text PRIMARY KEY,
    account_id text REFERENCES ledgers,
    credits integer CHECK (credits > 0),
    amount bigint,
    currency text,
    refunded bigint NOT NULL DEFAULT 0 CHECK (refunded >= 0),
    refunded_at bigint NOT NULL DEFAULT 0,
    clawed_back integer NOT NULL DEFAULT 0 CHECK (clawed_back >= 0 AND clawed_back <= coalesce(credits, 0)),
    entries_count integer NOT NULL DEFAULT 0,
    noted_at timestamptz NOT NULL DEFAULT clock_now(),
    CHECK ((account_id IS NULL) = (credits IS NULL))
);
CREATE INDEX payments_unmatched ON payments (noted_at) WHERE account_id IS NULL;
CREATE TABLE disputes (
    dispute_id text PRIMARY KEY,
    payment_id text NOT NULL REFERENCES payments ON DELETE CASCADE,
    amount bigint NOT NULL CHECK (amount >= 0),
    currency text NOT NULL,
    status text NOT NULL,
    told_at bigint NOT NULL,
    stage smallint NOT NULL
);
CREATE INDEX disputes_of_payment ON disputes (payment_id);
"""


def upgrade() -> None:
    op.execute(ENTRIES)
    op.execute(PAYMENTS)
