"""What became of write operations that made a post or a reply: statements. The rows themselves are chassis'."""

from collections.abc import Collection

from sqlalchemy import Connection, text

from chassis.operations import Operations

#: Posts and replies that their platform refused: their operations have made nothing that counts.
_FAILED = text(
    """
    SELECT id FROM posts WHERE id = ANY(:ids) AND state = 'failed' AND origin = 'immediate'
    UNION ALL SELECT id FROM replies WHERE id = ANY(:ids) AND state = 'failed'
    """
)


class PostOperations:
    """Operations of posts and replies over an open connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def void(self, tries: Collection[tuple[str, int]]) -> set[str]:
        """Voids operations (id, number of the last try to be voided); those that made nothing, and never will by these
        tries. A publish or a reply that its platform refused made nothing; one that is on its way may have.

        Waits for a try that is storing something at this moment. Raises ApiError SERVICE_UNAVAILABLE.
        """
        results = Operations(self._connection).void(tries)
        made = {result for result in results.values() if result is not None}
        failed = set(self._connection.execute(_FAILED, {"ids": list(made)}).scalars()) if made else set()
        return {
            operation_id for operation_id, result in results.items() if result is None or result in failed
        }
