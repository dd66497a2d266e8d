"""SQL of clean-up. Each call deletes at most `limit` rows, or marks at most `limit` rows as failed. The attempts of
deleted deliveries do not count.
"""

from datetime import timedelta

from sqlalchemy import Connection, text

#: Waiting deliveries of disabled subscriptions, except tests and replays. Subscriptions are marked (`ending`) when they
#: are disabled, so that those disabled long ago cost nothing; the dispatcher marks them again for a late delivery.
_FAIL_OF_DISABLED = text(
    """
    UPDATE deliveries d SET state = 'failed' FROM (
        SELECT p.subscription_id, p.id FROM subscriptions s, LATERAL (
            SELECT subscription_id, id FROM deliveries
            WHERE subscription_id = s.id AND state = 'pending' AND NOT asked LIMIT :limit) AS p
        WHERE s.ending AND s.status = 'disabled' LIMIT :limit) AS waiting
    WHERE d.subscription_id = waiting.subscription_id AND d.id = waiting.id AND d.state = 'pending'
    """
)
_END = text(
    """
    UPDATE subscriptions s SET ending = false
    WHERE s.ending AND NOT EXISTS (
        SELECT FROM deliveries d WHERE d.subscription_id = s.id AND d.state = 'pending' AND NOT d.asked)
    """
)
_REMOVE_OF_DELETED = text(
    """
    WITH gone AS (
        DELETE FROM deliveries WHERE (subscription_id, id) IN (
            SELECT p.subscription_id, p.id FROM subscriptions s, LATERAL (
                SELECT subscription_id, id FROM deliveries WHERE subscription_id = s.id LIMIT :limit) AS p
            WHERE s.deleted_at IS NOT NULL LIMIT :limit)
        RETURNING id
    ), tried AS (DELETE FROM attempts USING gone WHERE delivery_id = gone.id)
    SELECT count(*) FROM gone
    """
)
_REMOVE_DELIVERIES = text(
    """
    WITH gone AS (
        DELETE FROM deliveries WHERE state <> 'pending' AND ctid = ANY(ARRAY(
            SELECT ctid FROM deliveries
            WHERE created_at < (SELECT clock_now()) - CAST(:age AS interval) AND state <> 'pending'
            ORDER BY created_at LIMIT :limit))
        RETURNING id
    ), tried AS (DELETE FROM attempts USING gone WHERE delivery_id = gone.id)
    SELECT count(*) FROM gone
    """
)
_REMOVE_EVENTS = text(
    """
    DELETE FROM events WHERE id IN (
        SELECT id FROM events WHERE received_at < (SELECT clock_now()) - CAST(:age AS interval)
        ORDER BY received_at LIMIT :limit)
    """
)
_REMOVE_ASKS = text(
    """
    DELETE FROM asks WHERE operation_id IN (
        SELECT operation_id FROM asks WHERE created_at < (SELECT clock_now()) - CAST(:age AS interval)
        ORDER BY created_at LIMIT :limit)
    """
)
_REMOVE_SECRETS = text(
    """
    DELETE FROM secrets WHERE id IN (
        SELECT id FROM secrets WHERE expires_at < (SELECT clock_now()) - CAST(:age AS interval)
        ORDER BY expires_at LIMIT :limit)
    """
)
_REMOVE_SUBSCRIPTIONS = text(
    """
    DELETE FROM subscriptions WHERE id IN (
        SELECT id FROM subscriptions s
        WHERE deleted_at < (SELECT clock_now()) - CAST(:age AS interval)
            AND NOT EXISTS (SELECT FROM deliveries d WHERE d.subscription_id = s.id)
        LIMIT :limit)
    """
)

_REMOVE_REVOKED_TOKENS = text(
    """
    DELETE FROM revoked_tokens WHERE token_id IN (
        SELECT token_id FROM revoked_tokens WHERE revoked_at < now() - interval '1 day'
        ORDER BY revoked_at LIMIT :limit)
    """
)


class Retention:
    """Deletes old rows, and marks the waiting deliveries of disabled subscriptions as failed. Each method returns how
    many rows it changed.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def fail_of_disabled(self, limit: int) -> int:
        failed = self._connection.execute(_FAIL_OF_DISABLED, {"limit": limit}).rowcount
        self._connection.execute(_END)
        return failed

    def remove_of_deleted(self, limit: int) -> int:
        return int(self._connection.execute(_REMOVE_OF_DELETED, {"limit": limit}).scalar_one())

    def remove_deliveries(self, age: timedelta, limit: int) -> int:
        """Deletes up to `limit` deliveries that were created over `age` ago and are not pending, with their attempts.
        Returns how many.
        """
        return int(self._connection.execute(_REMOVE_DELIVERIES, {"age": age, "limit": limit}).scalar_one())

    def remove_events(self, age: timedelta, limit: int) -> int:
        return self._connection.execute(_REMOVE_EVENTS, {"age": age, "limit": limit}).rowcount

    def remove_asks(self, age: timedelta, limit: int) -> int:
        return self._connection.execute(_REMOVE_ASKS, {"age": age, "limit": limit}).rowcount

    def remove_secrets(self, age: timedelta, limit: int) -> int:
        return self._connection.execute(_REMOVE_SECRETS, {"age": age, "limit": limit}).rowcount

    def remove_revoked_tokens(self, limit: int) -> int:
        """Deletes the ids of tokens that were revoked over a day ago. They are needed only while a call with such a
        token may run, which is a matter of minutes.
        """
        return self._connection.execute(_REMOVE_REVOKED_TOKENS, {"limit": limit}).rowcount

    def remove_subscriptions(self, age: timedelta, limit: int) -> int:
        """Deletes at most `limit` subscriptions that their owners deleted longer than `age` ago and that have no
        deliveries any more. Returns how many.
        """
        return self._connection.execute(_REMOVE_SUBSCRIPTIONS, {"age": age, "limit": limit}).rowcount
