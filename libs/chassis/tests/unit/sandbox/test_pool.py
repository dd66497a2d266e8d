"""Work in a confined process: its limits, the data that it can read, and other work that runs meanwhile."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from chassis.sandbox.pool import Limits, NotStarted, OutOfLimits, SandboxPool, WorkFailed

WORK = textwrap.dedent(
    """
    import ctypes, os, time

    def add(argument, files):
        return argument["a"] + argument["b"]

    def burn(argument, files):
        end = time.process_time() + argument
        while time.process_time() < end:
            pass

    def sleep(argument, files):
        time.sleep(argument)

    def eat(argument, files):
        return len(bytearray(argument))

    def crash(argument, files):
        ctypes.string_at(0)

    def fail(argument, files):
        raise ValueError("no such thing")

    def start_thread(argument, files):
        import threading
        threading.Thread(target=bool).start()
        return "started"

    def start_process(argument, files):
        return os.fork() or os._exit(0)

    def copy(argument, files):
        return os.write(files[1], os.pread(files[0], 1000, 0))

    def fill(argument, files):
        with os.fdopen(files[0], "wb") as file:
            for _ in range(argument):
                file.write(bytes(2**20))

    def know(argument, files):
        return dict(os.environ), [number for number in range(4096) if is_open(number)]

    def is_open(number):
        try:
            os.fstat(number)
        except OSError:
            return False
        return True
    """
)
#: Ticks of 10 ms go on while two pieces of work burn a second of CPU each; prints the longest pause in milliseconds.
GREEN = textwrap.dedent(
    """
    import eventlet
    eventlet.monkey_patch()
    import threading, time
    from chassis.sandbox.pool import SandboxPool

    workshop, ticks = SandboxPool("some_work", at_once=2), []

    def tick():
        while True:
            ticks.append(time.monotonic())
            eventlet.sleep(0.01)

    workshop.run("add", {"a": 1, "b": 2})
    ticker = eventlet.spawn(tick)
    threads = [threading.Thread(target=workshop.run, args=("burn", 1.0)) for _ in range(2)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    ticker.kill()
    workshop.close()
    print(max(after - before for before, after in zip(ticks, ticks[1:])) * 1000)
    """
)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_work.py").write_text(WORK)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))


@pytest.fixture
def workshop(path: None) -> Iterator[SandboxPool]:
    made = SandboxPool(
        "some_work", Limits(memory_bytes=256 * 2**20, seconds=2, cpu_seconds=1, file_bytes=2**20), at_once=4
    )
    yield made
    made.close()


def test_an_answer_comes_back_and_files_are_the_same_files(workshop):
    assert workshop.run("add", {"a": 1, "b": 2}) == 3
    with tempfile.TemporaryFile() as first, tempfile.TemporaryFile() as second:
        first.write(b"hello")
        first.flush()
        assert workshop.run("copy", None, (first.fileno(), second.fileno())) == 5
        assert second.seek(0) == 0
        assert second.read() == b"hello"


@pytest.mark.parametrize(
    ("function", "argument"), [("eat", 2**30), ("burn", 30), ("sleep", 30), ("crash", None)]
)
def test_work_past_its_limits_ends_and_the_next_goes_on(workshop, function, argument):
    began = time.monotonic()
    with pytest.raises(OutOfLimits):
        workshop.run(function, argument)
    assert time.monotonic() - began < 4
    assert workshop.run("add", {"a": 1, "b": 2}) == 3


def test_work_in_the_background_leaves_the_cpu_and_a_core_to_others(path):
    nice = SandboxPool("some_work", Limits(in_background=True, cpu_seconds=30, seconds=30))
    nice.run("add", {"a": 1, "b": 2})
    server = nice._fork_server.pid
    work = threading.Thread(target=nice.run, args=("burn", 1.0))
    work.start()
    found = set()
    while work.is_alive():
        for child in Path(f"/proc/{server}/task/{server}/children").read_text().split():
            with suppress(ProcessLookupError):
                found.add((os.sched_getscheduler(int(child)), *sorted(os.sched_getaffinity(int(child)))))
    work.join()
    nice.close()
    _, *others = cores = sorted(os.sched_getaffinity(0))
    assert (os.SCHED_IDLE, *(others or cores)) in found


def test_a_file_grows_to_its_limit_and_no_further(workshop):
    with tempfile.TemporaryFile() as file:
        with pytest.raises(WorkFailed):
            workshop.run("fill", 3, (file.fileno(),))
        assert file.seek(0, 2) <= 2**20


def test_what_the_work_raises_is_told(workshop):
    with pytest.raises(WorkFailed, match="ValueError: no such thing"):
        workshop.run("fail")


def test_the_work_knows_no_secret_and_has_no_file_but_those_given(workshop, monkeypatch):
    monkeypatch.setenv("S3_SECRET_KEY", "secret")
    with ExitStack() as others, tempfile.TemporaryFile() as file:
        for _ in range(100):  # the fork server's own socket then has a high number
            others.enter_context(open(os.devnull, "rb"))
        known, descriptors = workshop.run("know", None, (file.fileno(),))
    assert "S3_SECRET_KEY" not in known
    # Standard input, output and errors (all /dev/null), the channel to us, and the file.
    assert len(descriptors) == 5


def program(workshop, *arguments, given=b""):
    """Runs a program and returns its output."""
    with tempfile.TemporaryFile() as first, tempfile.TemporaryFile() as second:
        first.write(given)
        first.seek(0)
        workshop.run_program(arguments, (first.fileno(), second.fileno()))
        second.seek(0)
        return second.read()


def test_a_program_reads_and_writes_the_files_it_is_given(workshop):
    assert program(workshop, "/bin/cat", given=b"hello") == b"hello"


def test_the_files_of_a_program_are_its_descriptors_in_their_order_and_it_has_no_other(workshop):
    with ExitStack() as opened:
        files = [opened.enter_context(tempfile.TemporaryFile()) for _ in range(5)]
        for number, file in enumerate(files):
            file.write(b"%d" % number)
            file.seek(0)
        script = "read a; read b <&2; read c <&3; read d <&4; echo $a$b$c$d; true <&5 || echo no more"
        workshop.run_program(("/bin/sh", "-c", script), [file.fileno() for file in files])
        files[1].seek(0)
        assert files[1].read() == b"0234\nno more\n"


def test_a_program_has_random_numbers_as_ffmpeg_ends_without(workshop):
    assert len(program(workshop, "/usr/bin/head", "-c", "8", "/dev/urandom")) == 8


def test_a_program_knows_nothing_and_has_the_same_limits(workshop, monkeypatch):
    monkeypatch.setenv("S3_SECRET_KEY", "secret")
    told = program(workshop, "/bin/sh", "-c", "export -p; ulimit -v; ulimit -f; ulimit -t; echo nothing >&2")
    assert b"SECRET" not in told
    # In KiB, in blocks of 512 bytes, in seconds.
    assert told.split()[-3:] == [b"262144", b"2048", b"1"]


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("/bin/true",), 0),
        (("/bin/sh", "-c", "exit 3"), 3),
        (("/bin/sleep", "300"), -signal.SIGALRM),
        (("/bin/sh", "-c", "while :; do :; done"), -signal.SIGXCPU),
        (("/usr/bin/head", "-c", "2000000", "/dev/zero"), 1),  # File too large
    ],
)
def test_a_program_ends_by_itself_or_at_its_limits_and_the_next_goes_on(workshop, arguments, status):
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as taken:
        files = given.fileno(), taken.fileno()
        # A busy machine may take longer than the two seconds to give a program its second of CPU.
        limits = Limits(memory_bytes=256 * 2**20, seconds=60, cpu_seconds=1, file_bytes=2**20)
        assert workshop.run_program(arguments, files, None if "300" in arguments else limits) == status
    assert program(workshop, "/bin/echo", "hello") == b"hello\n"


def test_programs_of_one_turn_run_while_no_other_process_is_free(path, monkeypatch):
    pool = SandboxPool("some_work", at_once=1)
    monkeypatch.setattr("chassis.sandbox.pool._TURN_SECONDS", 0.01)
    try:
        with pool.turn(), tempfile.TemporaryFile() as file:
            for _ in range(2):
                assert pool.run_program(("/bin/true",), (file.fileno(),), has_turn=True) == 0
                with pytest.raises(NotStarted):
                    pool.run_program(("/bin/true",), (file.fileno(),))
        assert pool.run("add", {"a": 1, "b": 2}) == 3
    finally:
        pool.close()


def test_a_program_may_start_threads_and_no_process(workshop):
    script = "import threading; made = threading.Thread(target=print, args=('threaded',)); made.start(); made.join()"
    python = os.path.realpath(sys.executable)
    assert program(workshop, python, "-ISc", script) == b"threaded\n"
    script = "import os\ntry: os.fork() or os._exit(0)\nexcept OSError: print('refused')"
    assert program(workshop, python, "-ISc", script) == b"refused\n"


def test_a_program_ends_with_its_service(path):
    program = (
        os.path.realpath(sys.executable),
        "-ISc",
        "import os, time; print(os.getpid(), flush=True); time.sleep(60)",
    )
    script = (
        "import os, threading; from chassis.sandbox.pool import SandboxPool; pool = SandboxPool('some_work')\n"
        f"told, out = os.pipe(); run = threading.Thread(target=pool.run_program, args=({program}, (out, out)))\n"
        "run.daemon = True; run.start(); print(os.read(told, 100).decode(), flush=True); os._exit(0)"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, timeout=60).stdout
    wait_for_the_end_of(int(said))


def test_a_function_may_start_threads_where_it_is_told_so_and_never_a_process(workshop):
    assert workshop.run("start_thread", has_threads=True) == "started"
    with pytest.raises(WorkFailed):
        workshop.run("start_thread")
    with pytest.raises(WorkFailed):
        workshop.run("start_process", has_threads=True)


def test_a_program_that_is_not_there_is_told(workshop):
    with pytest.raises(WorkFailed, match="FileNotFoundError"):
        program(workshop, "/no/such/program")


def test_work_at_once_is_kept_apart(workshop):
    answers = {}

    def run(number):
        answers[number] = workshop.run("add", {"a": number, "b": 1})

    threads = [threading.Thread(target=run, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: number + 1 for number in range(40)}


def test_a_fork_server_that_died_is_restarted(workshop):
    workshop.run("add", {"a": 1, "b": 2})
    workshop._fork_server.kill()
    workshop._fork_server.wait()
    assert workshop.run("add", {"a": 1, "b": 2}) == 3


def test_the_fork_server_ends_with_its_service(path, tmp_path):
    script = (
        "from chassis.sandbox.pool import SandboxPool\n"
        "w = SandboxPool('some_work'); w.run('add', {'a': 1, 'b': 1}); "
    )
    command = [sys.executable, "-c", script + "print(w._fork_server.pid, flush=True); import os; os._exit(0)"]
    wait_for_the_end_of(int(subprocess.run(command, capture_output=True, check=True).stdout))


def wait_for_the_end_of(pid):
    end = time.monotonic() + 30
    while is_alive(pid):
        assert time.monotonic() < end, "still there"
        time.sleep(0.01)


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_green_threads_go_on_while_work_burns(path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", GREEN], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 250
