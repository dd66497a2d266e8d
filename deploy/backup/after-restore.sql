-- For publishing's database after a restore, before anything runs. What was on its way in the backup, or queued and due
-- by now, may have gone out since: it is looked for on the platform, and is sent only if it is not there. `restored`:
-- what is noted of it may be older than its sending, so that no "never sent" of its own is believed. `began_at`: when
-- the backup began.
WITH doubtful AS (
    UPDATE posts p
    SET state = 'unknown', fence = p.fence + 1, unknown_since = clock_timestamp(), lease_until = clock_timestamp(),
        checkpoint = coalesce(p.checkpoint, '{}') || jsonb_build_object('restored', clock_timestamp()),
        -- An attempt that perhaps never was: it uses up none of those that are left.
        attempts = p.attempts + is_new::int, attempts_before = p.attempts_before + is_new::int
    FROM (
        SELECT id AS post_id, NOT EXISTS (
            SELECT FROM attempts a WHERE a.post_id = posts.id AND a.outcome IS NULL) AS is_new
        FROM posts) AS found
    WHERE p.id = found.post_id AND (state IN ('sending', 'unknown') OR state = 'queued' AND out_at <= clock_now())
    RETURNING p.id, p.attempts, p.fence, is_new
)
INSERT INTO attempts (post_id, number, fence, began_at)
SELECT id, attempts, fence, CAST(:'began_at' AS timestamptz) FROM doubtful WHERE is_new;

-- So may have been first comments that were due. (Those of posts that are found are looked for as well.)
UPDATE posts SET comment_state = 'unknown', comment_began_at = CAST(:'began_at' AS timestamptz)
WHERE comment_state = 'due' AND comment_wake_at <= clock_timestamp();
