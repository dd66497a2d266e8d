-- Run this on publishing's database after a restore (restore.sh does it), or after an asynchronous standby was
-- promoted, before any process starts. A post that was being sent at the time of the backup, or is due by now, may have
-- been sent since. So its outcome becomes unknown: publishing looks the post up on its platform, and sends it only if
-- it is not there. `restored` marks a checkpoint that may lack later steps: a look-up does not take it as proof that
-- nothing was sent. `began_at`: when the backup began, or a moment before the first commit that the standby lacks.
WITH doubtful AS (
    UPDATE posts p
    SET state = 'unknown', fence = p.fence + 1, unknown_since = clock_timestamp(), lease_until = clock_timestamp(),
        checkpoint = coalesce(p.checkpoint, '{}') || jsonb_build_object('restored', clock_timestamp()),
        -- The attempt added below may never have been made, so it uses up none of the post's remaining attempts.
        attempts = coalesce(found.number, p.attempts + 1),
        attempts_before = p.attempts_before + (found.number IS NULL)::int
    FROM (
        SELECT d.id AS post_id, a.number
        FROM posts d LEFT JOIN attempts a ON a.post_id = d.id AND a.outcome IS NULL
        WHERE d.state IN ('sending', 'unknown') OR d.state = 'queued' AND d.out_at <= clock_now()) AS found
    WHERE p.id = found.post_id
    RETURNING p.id, p.attempts, p.fence, found.number IS NULL AS is_new
)
INSERT INTO attempts (post_id, number, fence, began_at)
SELECT id, attempts, fence, CAST(:'began_at' AS timestamptz) FROM doubtful WHERE is_new;

-- First comments that were due may have been made since the backup too. (If a look-up finds a post, publishing looks up
-- the post's first comment as well.)
UPDATE posts SET comment_state = 'unknown', comment_began_at = CAST(:'began_at' AS timestamptz)
WHERE comment_state = 'due' AND comment_wake_at <= clock_timestamp();
