"""Tests of the pure parts of `./dev bench scale`: sizes, rows, and the comparison of an operation."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from bench.scale.comparing import WARM_UPS, Compared, Operation, compare
from bench.scale.copying import Lines, id_of, line
from bench.scale.publishing_rows import Pages, post_rows
from bench.scale.sizes import DUE_EACH, FULL, SMALL

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


class FakeWorld:
    """A set of databases on which every run of an operation takes `seconds`. Both sets share one fake clock."""

    def __init__(self, seconds: float, clock: list[float]) -> None:
        self.seconds, self.clock = seconds, clock
        self.runs: list[int] = []

    def run(self, number: int) -> None:
        self.runs.append(number)
        self.clock[0] += self.seconds

    def blocks(self, work: Callable[[], object]) -> int:
        work()
        return 7


def compared(small_seconds: float, full_seconds: float, rounds: int = 5) -> tuple[Compared, FakeWorld]:
    clock = [0.0]
    small, full = FakeWorld(small_seconds, clock), FakeWorld(full_seconds, clock)
    operation: Operation[FakeWorld] = Operation("list", FakeWorld.run, rounds=rounds)
    return compare(operation, small, full, clock=lambda: clock[0]), full


def test_an_operation_that_costs_twice_as_much_on_full_tables_misses_its_bar() -> None:
    row = compared(0.001, 0.002)[0].row
    assert (row.figure, row.met) == ("2.00", False)


def test_an_operation_that_costs_the_same_on_both_sides_meets_its_bar() -> None:
    row = compared(0.002, 0.002)[0].row
    assert (row.figure, row.met) == ("1.00", True)


def test_a_miss_that_does_not_come_again_counts_for_nothing() -> None:
    clock = [0.0]
    small, full = FakeWorld(0.001, clock), FakeWorld(0.004, clock)
    rounds = 5

    def run(world: FakeWorld, number: int) -> None:
        world.run(number)
        if len(full.runs) == WARM_UPS + rounds + 1:  # the first time has passed
            full.seconds = 0.001

    operation: Operation[FakeWorld] = Operation("list", run, rounds=rounds)
    assert compare(operation, small, full, clock=lambda: clock[0]).row.figure == "1.00"


def test_warm_ups_are_run_and_not_counted() -> None:
    found, full = compared(0.001, 0.001, rounds=5)
    assert len(found.full) == 5
    assert full.runs == list(range(WARM_UPS + 5 + 1))  # the last one counts blocks


def test_a_slow_operation_ends_after_its_seconds_with_both_sides_run_equally_often() -> None:
    found, _ = compared(0.5, 4.0, rounds=1_000)
    assert 1 <= len(found.full) == len(found.small) < 10


def test_a_quick_look_is_never_smaller_than_the_small_set() -> None:
    assert FULL.times(0.0) == SMALL
    assert FULL.times(1.0) == FULL


def test_the_rows_of_a_set_are_as_many_as_its_sizes_say() -> None:
    rows = [row.split("\t") for row in post_rows(Pages(SMALL), SMALL, NOW)]
    of_page = Counter(row[4] for row in rows)
    is_due = [row for row in rows if row[12] == "queued" and row[11] <= NOW.isoformat()]
    assert len(rows) == SMALL.posts
    assert of_page[Pages(SMALL).id(Pages.LONG)] == SMALL.page_history
    assert len(is_due) == SMALL.due
    assert set(Counter(row[4] for row in is_due).values()) == {DUE_EACH}
    assert len({row[0] for row in rows}) == len({row[1] for row in rows}) == len(rows)


def test_pages_of_one_account_are_as_many_as_its_size_says() -> None:
    pages = Pages(SMALL)
    owners = Counter(pages.account_id(page) for page in range(pages.count))
    assert owners[pages.account_id(Pages.QUIET)] == SMALL.account_pages
    assert owners[pages.account_id(Pages.LONG)] == 1


def test_ids_are_ordered_by_their_time_then_by_their_number() -> None:
    later = NOW + timedelta(milliseconds=1)
    assert id_of("pst", 9, NOW) < id_of("pst", 10, NOW) < id_of("pst", 1, later)


def test_lines_are_read_whole_whatever_the_size_of_a_read() -> None:
    lines = Lines([line("a", None, 1), line("b", 2.5, "x")])
    pieces = list(iter(lambda: lines.read(3), b""))
    assert b"".join(pieces) == b"a\t\\N\t1\nb\t2.5\tx\n"
