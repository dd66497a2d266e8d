"""Moves the mails that wait in the two queues of releases before 1.4.0 to the table `mails`.

1.4.0 moved each mail when it was due, and only with a mail server. It still reads the two queues, so the release after
this one drops them (`testkit.schema`).
"""

from alembic import op

revision = "0017"
down_revision = "0016"

MOVE = """
    WITH signed_up AS (
        DELETE FROM verification_mails AS mail USING users WHERE users.id = mail.user_id RETURNING users.id, users.email
    ), asked AS (
        UPDATE password_resets SET next_attempt_at = NULL WHERE next_attempt_at IS NOT NULL
        RETURNING id, email, expires_at
    )
    INSERT INTO mails (id, kind, email, details, expires_at, next_attempt_at)
    SELECT id || '.verification', 'verification', email, jsonb_build_object('user_id', id),
        clock_now() + interval '7 days', clock_timestamp() FROM signed_up
    UNION ALL SELECT id, 'reset', email, jsonb_build_object('reset_id', id),
        clock_now() + interval '1 day', clock_timestamp() FROM asked WHERE expires_at > clock_now()
    ON CONFLICT DO NOTHING
"""


def upgrade() -> None:
    op.execute(MOVE)
