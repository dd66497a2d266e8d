"""SQL that finds out what an operation has made: a post, a reply or nothing. The rows of operations are written by
chassis."""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, text

from chassis.db.operations import Operations
from publishing.records import PENDING, Post, column_names

#: Read from posts and replies, which stay when their operation is deleted. A publish or reply that its platform refused
#: made nothing; one that is being sent or looked up is undecided.
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

#: The posts of a call for several pages have its operation id, all but the first followed by their page's. What a
#: retry, a change or a reply concerned is known for as long as `operations` keeps it.
_FIND = text(
    f"""
    WITH asked AS (SELECT unnest(CAST(:ids AS text[])) AS id), found AS (
        SELECT p.id FROM asked JOIN posts p ON p.operation_id = asked.id
        UNION SELECT p.id FROM asked CROSS JOIN pages g JOIN posts p ON p.operation_id = asked.id || '_' || g.id
            WHERE g.account_id = :account_id
        UNION SELECT r.post_id FROM asked JOIN replies r ON r.operation_id = asked.id
        UNION SELECT o.result FROM asked JOIN operations o ON o.id = asked.id)
    SELECT {", ".join(f"posts.{name}" for name in column_names(Post))} FROM posts JOIN found USING (id)
    WHERE posts.account_id = :account_id ORDER BY posts.id DESC LIMIT :limit
    """
)

#: Marks an unknown outcome as not awaited. The outcome of a reply has an event in any case.
_LEAVE = text(
    """
    WITH left_posts AS (
        UPDATE posts SET awaited_until = NULL WHERE id = :id AND state IN ('sending', 'unknown') RETURNING id
    )
    SELECT id FROM left_posts UNION ALL SELECT post_id FROM replies WHERE id = :id AND state IN ('sending', 'unknown')
    """
)


class Left(NamedTuple):
    """The state of an operation whose client is answered while the operation still runs."""

    #: Whether the operation has made a post or reply. If not, it never will, because its tries so far are voided.
    is_begun: bool
    #: The post whose outcome is open and will be reported by an event. None: there is no such post.
    post_id: str | None = None


class Voided(NamedTuple):
    """The result of voiding operations. An operation that is neither in `nothing` nor in `undecided` has made a post or
    a reply.
    """

    #: Ids of the operations that made nothing and whose tries are voided.
    nothing: set[str]
    #: Ids of the operations whose publish or reply is being sent or looked up.
    undecided: set[str]


class PostOperations:
    """Finds out what operations have made, and voids those that have made nothing."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def void(self, tries: Collection[tuple[str, int]]) -> Voided:
        """Voids the given tries of operations that have not made anything yet: these tries may not write any more.
        `tries`: (operation id, number of the last try to void).

        Waits for a try that is storing something now. Raises SERVICE_UNAVAILABLE if that takes too long.
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
        """Stores that the client no longer waits, and returns the operation's state. The tries up to `try_number` can
        make nothing new from now on. If one of them has made a post or reply whose outcome is open, an event will
        report the outcome.

        Raises SERVICE_UNAVAILABLE if the database does not answer in time.
        """
        [result] = Operations(self._connection).void([(operation_id, try_number)]).values()
        if result is None:
            return Left(is_begun=False)
        return Left(is_begun=True, post_id=self._connection.execute(_LEAVE, {"id": result}).scalar())

    def find(self, account_id: str, operation_ids: Collection[str], limit: int) -> list[Post]:
        """Returns the account's posts that these operations made, changed or replied to, newest first."""
        values = {"account_id": account_id, "ids": list(operation_ids), "limit": limit}
        return [Post.of(row) for row in self._connection.execute(_FIND, values).mappings()]

    def _standings(self, operation_ids: Collection[str]) -> dict[str, str]:
        if not operation_ids:
            return {}
        rows = self._connection.execute(_STATES, {"ids": list(operation_ids), "pending": list(PENDING)})
        return dict.fromkeys(operation_ids, "nothing") | {row.operation_id: row.standing for row in rows}
