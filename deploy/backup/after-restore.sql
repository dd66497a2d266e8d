-- For publishing's database after a restore, or after an asynchronous standby was promoted, before anything runs. What
-- was on its way then, or queued and due by now, may have gone out since: it is looked for on the platform, and is sent
-- only if it is not there. `restored`: what is noted of it may be older than its sending, so that no "never sent" of its
-- own is believed. `began_at`: when the backup began, or a moment before the first commit that the standby lacks.
WITH doubtful AS (
    UPDATE posts p
    SET state = 'unknown', fence = p.fence + 1, unknown_since = clock_timestamp(), lease_until = clock_timestamp(),
        checkpoint = coalesce(p.checkpoint, '{}') || jsonb_build_object('restored', clock_timestamp()),
        -- An attempt that perhaps never was: it uses up none of those that are left.
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

-- So may have been first comments that were due. (Those of posts that are found are looked for as well.)
UPDATE posts SET comment_state = 'unknown', comment_began_at = CAST(:'began_at' AS timestamptz)
WHERE comment_state = 'due' AND comment_wake_at <= clock_timestamp();
