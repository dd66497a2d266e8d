-- For publishing's database after a restore, before anything runs. What was queued in the backup and is due by now may
-- have gone out since: it is looked up on the platform, as whatever nobody knows the outcome of, and is sent only if it
-- is not there. `began_at`: when the backup began.
WITH doubtful AS (
    UPDATE posts
    SET state = 'unknown', attempts = attempts + 1, fence = fence + 1,
        unknown_since = clock_timestamp(), lease_until = clock_timestamp()
    WHERE state = 'queued' AND out_at <= clock_now()
    RETURNING id, attempts, fence
)
INSERT INTO attempts (post_id, number, fence, began_at)
SELECT id, attempts, fence, CAST(:'began_at' AS timestamptz) FROM doubtful;
