"""What operations of posts and replies have made, for those who ask about many of them at once."""

from typing import Any

import pytest

from publishing.store.operations import PostOperations, Voided


def void(world: Any, *tries: tuple[str, int]) -> Voided:
    with world.database.transaction() as connection:
        return PostOperations(connection).void(tries)


@pytest.mark.parametrize(
    ("origin", "state", "standing"),
    [
        ("immediate", "published", "made"),
        ("immediate", "unknown", "undecided"),
        ("immediate", "sending", "undecided"),
        ("immediate", "failed", "nothing"),
        ("scheduled", "queued", "made"),
        ("scheduled", "failed", "made"),
        ("scheduled", "cancelled", "made"),
    ],
)
def test_a_post_counts_unless_it_was_published_at_once_and_refused(
    world: Any, origin: str, state: str, standing: str
) -> None:
    world.schedule(world.page(), world.in_minutes(11), operation_id="op_post")
    is_out = state in ("sending", "unknown", "published", "queued")
    world.run(
        "UPDATE posts SET origin = :origin, state = :state, out_at = CASE WHEN :is_out THEN out_at END",
        origin=origin, state=state, is_out=is_out,
    )  # fmt: skip
    voided = void(world, ("op_post", 3), ("op_none", 1))
    assert voided.nothing == ({"op_none", "op_post"} if standing == "nothing" else {"op_none"})
    assert voided.undecided == ({"op_post"} if standing == "undecided" else set())


def test_a_post_of_the_release_before_counts_without_a_row_of_its_operation(world: Any) -> None:
    world.schedule(world.page(), world.in_minutes(11), operation_id="op_post")
    world.run("DELETE FROM operations")
    assert void(world, ("op_post", 1)) == Voided(nothing=set(), undecided=set())


def test_nothing_is_written_of_operations_that_have_made_something(world: Any) -> None:
    world.schedule(world.page(), world.in_minutes(11), operation_id="op_post")
    assert void(world) == void(world, ("op_post", 1)) == Voided(nothing=set(), undecided=set())
    assert world.ask("SELECT voided_to_try FROM operations")[0].voided_to_try == 0
