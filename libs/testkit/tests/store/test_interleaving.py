"""The interleaver itself: it finds a planted error, finds none where there is none, and repeats a run exactly."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count

import pytest
from sqlalchemy import text

from chassis.db.database import Database, end_with
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from testkit.interleaving import Cut, Interleaver, Process, Run, Try, explore

SEEDS = range(120)
_rows = count(1)


@pytest.fixture
def url(database_for: Callable[[str], str]) -> str:
    return database_for("probe")


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    found = Database(url)
    with found.transaction() as connection:
        connection.execute(text("CREATE TABLE counts (id integer PRIMARY KEY, value integer NOT NULL)"))
        connection.execute(text("CREATE TABLE made (counted integer NOT NULL)"))
    yield found
    found.close()


@pytest.fixture
def interleaver(url: str, database: Database) -> Iterator[Interleaver]:
    with Interleaver(url) as made:
        yield made


def new_row(database: Database) -> int:
    row = next(_rows)
    with database.transaction() as connection:
        connection.execute(text("INSERT INTO counts VALUES (:id, 0)"), {"id": row})
    return row


def value(database: Database, row: int) -> int:
    with database.reading() as connection:
        return int(
            connection.execute(text("SELECT value FROM counts WHERE id = :id"), {"id": row}).scalar_one()
        )


def add_one(process: Process, row: int, *, lock: str = "") -> str:
    """Reads the value, adds one and writes it."""
    with process.database.transaction() as connection:
        read = connection.execute(
            text(f"SELECT value FROM counts WHERE id = :id {lock}"), {"id": row}
        ).scalar_one()
        connection.execute(
            text("UPDATE counts SET value = :value WHERE id = :id"), {"value": read + 1, "id": row}
        )
    return "added"


def two_adders(
    interleaver: Interleaver, database: Database, seed: int, *, lock: str, cuts: int = 0
) -> tuple[Run, int]:
    """Runs `add_one` in two processes. Returns the run, and the value after it."""
    row = new_row(database)
    tries = [
        Try(name, process, lambda process=process: add_one(process, row, lock=lock))
        for name, process in ((name, interleaver.process(name)) for name in ("first", "second"))
    ]
    return interleaver.run(seed, *tries, most_cuts=cuts), value(database, row)


def test_a_lost_update_is_found(interleaver: Interleaver, database: Database) -> None:
    def example(seed: int) -> None:
        _, after = two_adders(interleaver, database, seed, lock="")
        assert after == 2, f"{after} after two additions"

    with pytest.raises(AssertionError, match="1 after two additions") as found:
        explore(interleaver, SEEDS, example)
    assert "first: before UPDATE" in str(found.value)


def test_nothing_is_found_where_the_row_is_locked(interleaver: Interleaver, database: Database) -> None:
    def example(seed: int) -> None:
        run, after = two_adders(interleaver, database, seed, lock="FOR UPDATE", cuts=1)
        known = sum(run[name].value == "added" for name in ("first", "second"))
        assert known <= after <= known + run.cuts

    counts = explore(interleaver, SEEDS, example)
    assert counts["runs"] == len(SEEDS)
    assert counts["turned"] > len(SEEDS) // 3
    assert counts["cut"] > len(SEEDS) // 10


def test_a_double_insert_is_found(interleaver: Interleaver, database: Database) -> None:
    def make_once(process: Process, row: int) -> None:
        with process.database.transaction() as connection:
            found = connection.execute(text("SELECT 1 FROM made WHERE counted = :row"), {"row": row}).first()
            if found is None:
                connection.execute(text("INSERT INTO made VALUES (:row)"), {"row": row})

    def example(seed: int) -> None:
        row = next(_rows)
        first, second = interleaver.process("first"), interleaver.process("second")
        interleaver.run(
            seed,
            Try("first", first, lambda: make_once(first, row)),
            Try("second", second, lambda: make_once(second, row)),
        )
        with database.reading() as connection:
            made = connection.execute(text("SELECT FROM made WHERE counted = :row"), {"row": row}).rowcount
        assert made <= 1, f"made {made} times"

    with pytest.raises(AssertionError, match="made 2 times"):
        explore(interleaver, SEEDS, example)


@pytest.mark.parametrize("lock", ["", "FOR UPDATE"])
def test_a_seed_gives_the_same_order_again(interleaver: Interleaver, database: Database, lock: str) -> None:
    for seed in range(20):
        (first, _), (again, _) = (
            two_adders(interleaver, database, seed, lock=lock, cuts=1) for _ in range(2)
        )
        assert first.trace == again.trace


def test_a_try_that_waits_for_a_lock_is_passed_over(interleaver: Interleaver, database: Database) -> None:
    for seed in range(40):
        run, _ = two_adders(interleaver, database, seed, lock="FOR UPDATE")
        selects = [n for n, line in enumerate(run.trace) if "before BEGIN; SELECT" in line]
        commits = [n for n, line in enumerate(run.trace) if "after COMMIT" in line]
        if selects[1] < commits[0]:
            return  # the second asked for the row while the first had it
    pytest.fail("no try was let go into the other's lock")


def test_a_deadlock_is_told(interleaver: Interleaver, database: Database) -> None:
    rows = new_row(database), new_row(database)

    def lock_all(process: Process, order: tuple[int, ...]) -> None:
        with process.database.transaction() as connection:
            for row in order:
                connection.execute(text("SELECT FROM counts WHERE id = :row FOR UPDATE"), {"row": row})

    def example(seed: int) -> None:
        first, second = interleaver.process("first"), interleaver.process("second")
        interleaver.run(
            seed,
            Try("first", first, lambda: lock_all(first, rows)),
            Try("second", second, lambda: lock_all(second, rows[::-1])),
            most_cuts=0,
        )

    with pytest.raises(AssertionError, match="deadlock detected"):
        explore(interleaver, range(8), example)


@pytest.fixture
def cut(interleaver: Interleaver, database: Database, monkeypatch: pytest.MonkeyPatch) -> "CutAt":
    return CutAt(interleaver, database, monkeypatch)


class CutAt:
    """Cuts the only try of a run at the stop whose name begins with this text."""

    def __init__(self, interleaver: Interleaver, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        self.interleaver, self.database, self._monkeypatch = interleaver, database, monkeypatch
        self.process = interleaver.process("only")

    def __call__(self, cut: Cut, stop: str, work: Callable[[], object]) -> Run:
        def chosen(_scheduler: object, thread: object) -> Cut | None:
            return cut if getattr(thread, "stop", "").startswith(stop) else None

        self._monkeypatch.setattr("testkit.interleaving.scheduler.RunScheduler._choose_cut", chosen)
        return self.interleaver.run(0, Try("only", self.process, work))


@pytest.mark.parametrize(
    ("stop", "after"), [("before UPDATE", 0), ("after UPDATE", 0), ("before COMMIT", 0), ("after COMMIT", 1)]
)
@pytest.mark.parametrize("how", list(Cut))
def test_a_cut_leaves_what_was_committed_before_it(cut: CutAt, how: Cut, stop: str, after: int) -> None:
    row = new_row(cut.database)
    run = cut(how, stop, lambda: add_one(cut.process, row))
    assert value(cut.database, row) == after
    assert run.cuts == 1
    error = run["only"].error
    assert run["only"].was_killed if how is Cut.KILL else getattr(error, "row", None) is SERVICE_UNAVAILABLE


def test_a_commit_that_travels_with_its_statement_is_committed_after_it(cut: CutAt) -> None:
    row = new_row(cut.database)

    def work() -> None:
        with cut.process.database.transaction() as connection:
            connection.execute(text("SELECT 1"))
            end_with(connection, "UPDATE counts SET value = 7 WHERE id = %(row)s", {"row": row})

    assert cut(Cut.KILL, "after UPDATE", work)["only"].was_killed
    assert value(cut.database, row) == 7


def test_a_killed_process_does_nothing_more(cut: CutAt) -> None:
    row, told = new_row(cut.database), []

    def tell(word: str) -> None:
        told.append(word)

    outside = cut.process.outside(tell, lost=lambda: TimeoutError())

    def work() -> None:
        try:
            add_one(cut.process, row)
        except Exception:  # noqa: BLE001 - nothing catches it
            outside("caught")
        finally:
            try:
                outside("at the end")
            finally:
                add_one(cut.process, row)

    assert cut(Cut.KILL, "before COMMIT", work)["only"].was_killed
    assert (value(cut.database, row), told) == (0, [])


def test_a_lost_connection_is_an_error_that_the_code_can_go_on_from(cut: CutAt) -> None:
    row = new_row(cut.database)

    def work() -> str:
        try:
            return add_one(cut.process, row)
        except ApiError:
            return "caught"

    assert cut(Cut.LOSE, "after COMMIT", work)["only"].value == "caught"
    assert value(cut.database, row) == 1


@pytest.mark.parametrize(("stop", "told"), [("before tell", []), ("after tell", ["word"])])
def test_a_call_to_the_outside_is_cut_before_it_or_after_it(cut: CutAt, stop: str, told: list[str]) -> None:
    heard: list[str] = []

    def tell(word: str) -> None:
        heard.append(word)

    outside = cut.process.outside(tell, lost=lambda: TimeoutError())
    assert cut(Cut.KILL, stop, lambda: outside("word"))["only"].was_killed
    assert heard == told
    heard.clear()
    assert isinstance(cut(Cut.LOSE, stop, lambda: outside("word"))["only"].error, TimeoutError)
    assert heard == told


def test_the_threads_of_a_process_die_together(interleaver: Interleaver, database: Database) -> None:
    process, other = interleaver.process("two threads"), interleaver.process("other")
    died = 0
    for seed in range(60):
        row = new_row(database)
        run = interleaver.run(
            seed,
            Try("left", process, partial(add_one, process, row, lock="FOR UPDATE")),
            Try("right", process, partial(add_one, process, row, lock="FOR UPDATE")),
            Try("other", other, partial(add_one, other, row, lock="FOR UPDATE"), cuts=()),
        )
        known = sum(ended.value == "added" for ended in run.ended.values())
        assert run["other"].value == "added"
        assert known <= value(database, row) <= known + 1
        died += run["left"].was_killed and run["right"].was_killed
    assert died


def test_work_that_a_helper_thread_does_is_the_process_s(
    interleaver: Interleaver, database: Database
) -> None:
    """The thread of the try waits while a helper thread does its work."""

    def in_a_thread(process: Process, row: int) -> str:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(add_one, process, row).result()

    def example(seed: int) -> None:
        row = new_row(database)
        first, second = interleaver.process("first"), interleaver.process("second")
        interleaver.run(
            seed,
            Try("first", first, lambda: in_a_thread(first, row)),
            Try("second", second, lambda: in_a_thread(second, row)),
            most_cuts=0,
        )
        assert value(database, row) == 2, "an addition was lost"

    with pytest.raises(AssertionError, match="an addition was lost"):
        explore(interleaver, range(20), example)


def test_tries_of_a_process_that_wait_for_each_other_go_on(
    interleaver: Interleaver, database: Database
) -> None:
    process, is_done = interleaver.process("only"), threading.Event()

    def leads(row: int) -> None:
        add_one(process, row)
        is_done.set()

    for seed in range(10):
        row = new_row(database)
        is_done.clear()
        run = interleaver.run(
            seed,
            Try("follows", process, lambda: is_done.wait(30)),
            Try("leads", process, partial(leads, row)),
            most_cuts=0,
        )
        assert run["follows"].value is True
