"""What became of write operations that made a post or a reply: statements. The rows themselves are chassis'."""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, text

from chassis.db.operations import Operations
from publishing.records import PENDING

#: By what they made, which the release before this one did not leave in `operations`. A publish or reply that its
#: platform refused made nothing; one that is on its way or being looked up is not decided.
_STATES = text(
    """
    SELECT operation_id, CASE WHEN origin = 'scheduled' OR state = 'published' THEN 'made'
        WHEN state = ANY(:pending) THEN 'undecided' ELSE 'nothing' END AS standing
    FROM posts WHERE operation_id = ANY(:ids)
    UNION ALL
    SELECT operation_id, CASE state WHEN 'done' THEN 'made' WHEN 'failed' THEN 'nothing' ELSE 'undecided' END
    FROM replies WHERE operation_id = ANY(:ids)
    """
)


#: From now on nobody waits for the outcome, unless it is known already. Of a reply an event tells in any case.
_LEAVE = text(
    """
    WITH left_posts AS (
        UPDATE posts SET awaited_until = NULL WHERE id = :id AND state IN ('sending', 'unknown') RETURNING id
    )
    SELECT id FROM left_posts UNION ALL SELECT post_id FROM replies WHERE id = :id AND state IN ('sending', 'unknown')
    """
)


class Left(NamedTuple):
    """How an operation stands whose client is answered while it runs."""

    #: Whether it has made something; if not, it never will by the tries so far.
    is_begun: bool
    #: The post whose outcome is open: an event will tell of it. None: the outcome is recorded.
    post_id: str | None = None


class Voided(NamedTuple):
    """What the asked-for tries of operations have made; an operation in neither has made a post or a reply."""

    #: Ids of the operations that made nothing, and never will by these tries.
    nothing: set[str]
    #: Ids of those whose publish or reply may still turn out either way.
    undecided: set[str]


class PostOperations:
    """Operations of posts and replies over an open connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def void(self, tries: Collection[tuple[str, int]]) -> Voided:
        """Voids operations (id, number of the last try to be voided) that have not made anything yet.

        Waits for a try that is storing something at this moment. Writes nothing of those that have made something.
        Raises ApiError SERVICE_UNAVAILABLE.
        """
        before = self._standings({operation_id for operation_id, _ in tries})
        rest = [(operation_id, number) for operation_id, number in tries if before[operation_id] != "made"]
        Operations(self._connection).void(rest)
        after = self._standings(
            {operation_id for operation_id, _ in rest}
        )  # a try may have stored it meanwhile
        return Voided(
            nothing={operation_id for operation_id, standing in after.items() if standing == "nothing"},
            undecided={operation_id for operation_id, standing in after.items() if standing == "undecided"},
        )

    def leave(self, operation_id: str, try_number: int) -> Left:
        """Ends the waiting of an operation's client: what has not begun is voided, what has is left to an event.

        Raises ApiError SERVICE_UNAVAILABLE.
        """
        [result] = Operations(self._connection).void([(operation_id, try_number)]).values()
        if result is None:
            return Left(is_begun=False)
        return Left(is_begun=True, post_id=self._connection.execute(_LEAVE, {"id": result}).scalar())

    def _standings(self, operation_ids: Collection[str]) -> dict[str, str]:
        if not operation_ids:
            return {}
        rows = self._connection.execute(_STATES, {"ids": list(operation_ids), "pending": list(PENDING)})
        return dict.fromkeys(operation_ids, "nothing") | {row.operation_id: row.standing for row in rows}
