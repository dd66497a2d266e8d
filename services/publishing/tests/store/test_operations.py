"""What operations of posts and replies have made, for those who ask about many of them at once."""

from typing import Any

import pytest

from chassis.operations import Operations
from contracts.caller import Caller
from publishing.store.operations import PostOperations


def void(world: Any, *tries: tuple[str, int]) -> set[str]:
    with world.database.transaction() as connection:
        return PostOperations(connection).void(tries)


def made(world: Any, operation_id: str, result: str) -> None:
    with world.database.transaction() as connection:
        caller: Caller = world.caller(operation_id)
        Operations(connection).begin(caller)
        Operations(connection).end(caller, result)


@pytest.mark.parametrize(
    ("origin", "state", "counts"),
    [
        ("immediate", "published", True),
        ("immediate", "unknown", True),
        ("immediate", "sending", True),
        ("immediate", "failed", False),
        ("scheduled", "failed", True),
        ("scheduled", "cancelled", True),
    ],
)
def test_a_post_counts_unless_it_was_published_at_once_and_refused(
    world: Any, origin: str, state: str, counts: bool
) -> None:
    post = world.schedule(world.page(), world.in_minutes(11))
    is_out = state in ("sending", "unknown", "published")
    world.run(
        "UPDATE posts SET origin = :origin, state = :state, out_at = CASE WHEN :is_out THEN out_at END",
        origin=origin, state=state, is_out=is_out,
    )  # fmt: skip
    made(world, "op_post", post.id)
    assert void(world, ("op_post", 3), ("op_none", 1)) == ({"op_none"} if counts else {"op_none", "op_post"})


def test_operations_with_another_answer_count(world: Any) -> None:
    made(world, "op_1", '{"success": true}')
    assert void(world, ("op_1", 1)) == set()
    assert void(world) == set()
