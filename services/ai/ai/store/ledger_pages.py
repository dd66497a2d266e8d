"""SQL of the pages of the ledger list: entries with the balance after each."""

from datetime import UTC, datetime

from sqlalchemy import Connection

from contracts.record import Record

# The balance after the newest entry of the page is the newest closing before it and the entries between (about 500 at
# most); the others follow by subtraction.
_PAGE = """
WITH page AS (
    SELECT id, created_at, kind, action, job_id, plan + referral + bought AS amount, -owed AS owed
    FROM entries WHERE account_id = %(account_id)s AND id < %(before)s ORDER BY id DESC LIMIT %(limit)s),
newest AS (SELECT max(id) AS id FROM page),
closing AS (
    SELECT through_id, plan + referral + bought AS balance FROM closings
    WHERE account_id = %(account_id)s AND through_id <= (SELECT id FROM newest) ORDER BY through_id DESC LIMIT 1),
total AS (
    SELECT coalesce((SELECT balance FROM closing), 0) + coalesce(sum(plan + referral + bought), 0) AS balance
    FROM entries WHERE account_id = %(account_id)s AND id <= (SELECT id FROM newest)
        AND id > coalesce((SELECT through_id FROM closing), 0))
SELECT page.*, total.balance - coalesce(
    sum(amount) OVER (ORDER BY page.id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS balance_after
FROM page, total ORDER BY page.id DESC
"""


class LedgerRow(Record):
    id: int
    created_at: datetime
    kind: str
    amount: int
    balance_after: int
    owed: int
    action: str | None
    job_id: str | None


def page(connection: Connection, account_id: str, *, before: int, limit: int) -> list[LedgerRow]:
    """Returns the account's ledger entries with an id below `before`, newest first."""
    values = {"account_id": account_id, "before": before, "limit": limit}
    return [
        LedgerRow.made_from(
            row, created_at=row.created_at.astimezone(UTC), balance_after=int(row.balance_after)
        )
        for row in connection.exec_driver_sql(_PAGE, values)
    ]
