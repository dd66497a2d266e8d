"""Measures the cost of traces and metrics: runs the same load in turn on a stack that records none, and on one that
exports 10 % of the traces.
"""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import geometric_mean, median
from typing import NamedTuple

import psutil

from bench.load import Load, Variant, run
from bench.requests_per_second import _schedules
from bench.stack import Stack, Tenant
from bench.table import Row
from local.processes.table import supervisor_pid
from local.stack.stack import Stack as LocalStack

#: Pairs of runs in a sitting, and seconds of each run. The median of the pairs evens out the noise of the machine.
_ROUNDS, _SECONDS = 3, 4.0
#: Two equal stacks may differ by up to 15 % as long as they run. So each is the traced one in one of two sittings.
_SITTINGS = 2
#: Enough tenants to stay below their rate limits, because a refused request costs less than an answered one.
_TENANTS, _PAGES_EACH = 140, 15
#: Each page takes ten posts, in slots of time of their own; each round uses new ones.
_POSTS_A_ROUND = _TENANTS * _PAGES_EACH * 10 // (_ROUNDS * _SITTINGS)


def measure(stack: Stack) -> list[Row]:
    runs = [stack.run / "tracing-1", stack.run / "tracing-2"]
    reads, posts = Pairs("GET /pages at 64"), Pairs("POST /posts/schedule with a key at 16")
    tenants: list[list[Tenant]] = []
    with _sink() as url:
        try:
            for sitting in range(_SITTINGS):
                with (
                    _up(runs[0], url if sitting else "") as one,
                    _up(runs[1], "" if sitting else url) as other,
                ):
                    tenants = tenants or [it.make_tenants(_TENANTS, _PAGES_EACH) for it in (one, other)]
                    pair = list(zip((one, other), tenants, strict=True))
                    not_traced, traced = reversed(pair) if sitting else pair
                    reads.sit(_pages(*not_traced), _pages(*traced), sitting)
                    posts.sit(_posts(*not_traced), _posts(*traced), sitting)
        finally:
            for run_directory in runs:
                shutil.rmtree(run_directory, ignore_errors=True)
        return [_hooks(url, reads.cpu_ms), *reads.rows(), *posts.rows()]


class Turn(NamedTuple):
    """The result of one run: requests per second, and the CPU milliseconds of one request in all processes of the
    stack.
    """

    per_second: float
    cpu_ms: float


class Pairs:
    """Runs of one load in pairs, one run without traces and one with them. A sitting is a series of pairs; in the
    second sitting the two stacks have exchanged their roles.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._sittings: list[list[tuple[Turn, Turn]]] = []

    def sit(self, off: Callable[[int], Turn], on: Callable[[int], Turn], sitting: int) -> None:
        """Runs the load in turn on the stack without traces (`off`) and on the one that exports (`on`), for one
        sitting. Every other pair begins with the latter.
        """
        pairs: list[tuple[Turn, Turn]] = []
        for number in range(sitting * _ROUNDS, (sitting + 1) * _ROUNDS):
            turns = {load: load(number) for load in ((off, on) if number % 2 else (on, off))}
            pairs.append((turns[off], turns[on]))
        self._sittings.append(pairs)

    @property
    def cpu_ms(self) -> float:
        """The median CPU time of one request without traces, in milliseconds."""
        return median(off.cpu_ms for off, _ in self._all)

    def rows(self) -> list[Row]:
        return [
            self._row("traced at 10 % / not, requests", "{:,.0f}/s", lambda it: it.per_second, is_gain=True),
            self._row("not traced / at 10 %, CPU of one", "{:.3f} ms", lambda it: it.cpu_ms, is_gain=False),
        ]

    def _row(self, what: str, form: str, of: Callable[[Turn], float], *, is_gain: bool) -> Row:
        """Returns a row with the ratio between traced and untraced runs; below 1, traces cost something.

        It is the geometric mean of the sittings' medians. So a difference between the two stacks cancels out, because
        they exchange their roles.
        """
        ratios = [
            [(of(on) / of(off) if is_gain else of(off) / of(on)) for off, on in pairs]
            for pairs in self._sittings
        ]
        each = "; ".join(", ".join(f"{ratio:.2f}" for ratio in sitting) for sitting in ratios)
        on, off = median(of(on) for _, on in self._all), median(of(off) for off, _ in self._all)
        return Row.ratio(
            f"{self._name}: {what}", geometric_mean(map(median, ratios)), 1.0, at_least=0.95
        ).noting(f"{form.format(on)} traced, {form.format(off)} not; pairs {each}")

    @property
    def _all(self) -> list[tuple[Turn, Turn]]:
        return [pair for pairs in self._sittings for pair in pairs]


def _hooks(url: str, read_ms: float) -> Row:
    """Measures the CPU time of the tracing code that one read runs (`bench/hooks.py`). Returns a row that compares it
    with the CPU time of a read without traces.
    """
    done = subprocess.run(
        [sys.executable, "-m", "bench.hooks", url], capture_output=True, text=True, check=True
    )
    row = Row.ratio(
        "hooks of a read at 10 % / CPU of a read", float(done.stdout) / 1000, read_ms, at_most=0.05
    )
    return row.noting("ms")


def _measured(stack: Stack, load: Load) -> Turn:
    before = _cpu_seconds(stack)
    measured = run(load)
    lasted = load.seconds + load.warm_up_seconds
    assert all(status.startswith("2") for status in measured.statuses), measured.statuses
    per_request = (_cpu_seconds(stack) - before) / (measured.per_second * lasted)
    return Turn(measured.per_second, per_request * 1000)


def _cpu_seconds(stack: Stack) -> float:
    """Returns the CPU seconds that all processes of the stack, PostgreSQL and RabbitMQ included, have used since their
    start.
    """
    pid = supervisor_pid(stack.run)
    assert pid is not None
    times = [one.cpu_times() for one in psutil.Process(pid).children(recursive=True)]
    return float(sum(time.user + time.system + time.children_user + time.children_system for time in times))


def _pages(stack: Stack, tenants: list[Tenant]) -> Callable[[int], Turn]:
    tokens = tuple(Variant(headers={"Authorization": f"Bearer {tenant.token}"}) for tenant in tenants)
    url = f"{stack.base_url}/pages?limit=25"
    load = Load(url=url, connections=64, seconds=_SECONDS, variants=tokens)
    return lambda _number: _measured(stack, load)


def _posts(stack: Stack, tenants: list[Tenant]) -> Callable[[int], Turn]:
    variants = tuple(_schedules(tenants))

    def measured(number: int) -> Turn:
        load = Load(
            url=f"{stack.base_url}/posts/schedule",
            method="POST",
            connections=16,
            seconds=_SECONDS,
            headers={"Idempotency-Key": "tracing-{n}"},
            variants=variants,
            first=number * _POSTS_A_ROUND,
        )
        return _measured(stack, load)

    return measured


@contextmanager
def _sink() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-m", "bench.sink", str(port)])
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


@contextmanager
def _up(path: Path, collector: str) -> Iterator[Stack]:
    """Runs another stack during the block, with default settings. With `collector`, it exports traces to that URL."""
    local = LocalStack(path, usual_ports=False)
    given = {
        name: os.environ.pop(name) for name in list(os.environ) if name.startswith(("AMQP_", "DATABASE_URL_"))
    }
    if collector:
        os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector
    try:
        try:
            local.up(lambda _: None, owner_pid=os.getpid())
        finally:  # the next stack that starts must not inherit this setting
            os.environ.pop("OTEL_EXPORTER_OTLP_ENDPOINT", None)
        stack = Stack(local.run)
        yield stack
        stack.bus.close()
    finally:
        os.environ |= given
        local.down()
