"""What traces and metrics cost: the same load in turn on the stack as it is and on one that exports at 10 %."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import NamedTuple

import psutil

from bench.load import Load, Variant, run
from bench.requests_per_second import _schedules
from bench.stack import Stack, Tenant
from bench.table import Row
from local.processes import supervisor_pid
from local.stack import Stack as LocalStack

#: Each stack is measured so often, for so long; the machine's moods come out in the median of the pairs.
_ROUNDS, _SECONDS = 3, 4.0
#: Enough that nobody meets a limit: refusals cost less than answers.
_TENANTS, _PAGES_EACH = 140, 15
#: Their pages have four times each; a round uses new ones.
_POSTS_A_ROUND = _TENANTS * _PAGES_EACH * 4 // _ROUNDS


def measure(stack: Stack) -> list[Row]:
    with _sink() as url, _traced(stack, url) as traced:
        tenants = [(one, one.make_tenants(_TENANTS, _PAGES_EACH)) for one in (stack, traced)]
        return [
            _hooks(url, _pages(*tenants[0])(0).cpu_ms),
            *_rows("GET /pages at 64", [_pages(*one) for one in tenants]),
            *_rows("POST /posts/schedule with a key at 16", [_posts(*one) for one in tenants]),
        ]


class Turn(NamedTuple):
    """One measurement: requests a second, and what each cost all processes of its stack together."""

    per_second: float
    cpu_ms: float


def _rows(name: str, loads: Sequence[Callable[[int], Turn]]) -> list[Row]:
    """Both stacks in turn, and who begins changes. Their CPU tells more where other work goes on beside."""
    pairs: list[tuple[Turn, Turn]] = []
    for number in range(_ROUNDS):
        turns = {at: loads[at](number) for at in ((0, 1) if number % 2 else (1, 0))}
        pairs.append((turns[0], turns[1]))
    faster = [on.per_second / off.per_second for off, on in pairs]
    cheaper = [off.cpu_ms / on.cpu_ms for off, on in pairs]
    return [
        Row.ratio(f"{name}: traced at 10 % / not, requests", median(faster), 1.0, at_least=0.95).noting(
            _told(
                "{:,.0f}/s", [on.per_second for _, on in pairs], [off.per_second for off, _ in pairs], faster
            )
        ),
        Row.ratio(f"{name}: not traced / at 10 %, CPU of one", median(cheaper), 1.0, at_least=0.95).noting(
            _told("{:.3f} ms", [on.cpu_ms for _, on in pairs], [off.cpu_ms for off, _ in pairs], cheaper)
        ),
    ]


def _hooks(url: str, read_ms: float) -> Row:
    """Beside the CPU of a whole read on the stack that is not traced."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.hooks", url], capture_output=True, text=True, check=True
    )
    row = Row.ratio(
        "hooks of a read at 10 % / CPU of a read", float(done.stdout) / 1000, read_ms, at_most=0.05
    )
    return row.noting("ms")


def _told(form: str, on: list[float], off: list[float], ratios: list[float]) -> str:
    each = ", ".join(f"{ratio:.3f}" for ratio in ratios)
    return f"{form.format(median(on))} traced, {form.format(median(off))} not; pairs {each}"


def _measured(stack: Stack, load: Load) -> Turn:
    before = _cpu_seconds(stack)
    measured = run(load)
    lasted = load.seconds + load.warm_up_seconds
    assert all(status.startswith("2") for status in measured.statuses), measured.statuses
    per_request = (_cpu_seconds(stack) - before) / (measured.per_second * lasted)
    return Turn(measured.per_second, per_request * 1000)


def _cpu_seconds(stack: Stack) -> float:
    """Of all processes of the stack, its servers included, since they began."""
    pid = supervisor_pid(stack.run)
    assert pid is not None
    times = [one.cpu_times() for one in psutil.Process(pid).children(recursive=True)]
    return sum(time.user + time.system + time.children_user + time.children_system for time in times)


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
def _traced(stack: Stack, url: str) -> Iterator[Stack]:
    """A second stack, told as a deployment would be: our defaults, and where the collector is."""
    local = LocalStack(stack.run / "traced", usual_ports=False)
    given = {
        name: os.environ.pop(name) for name in list(os.environ) if name.startswith(("AMQP_", "DATABASE_URL_"))
    }
    os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = url
    try:
        local.up(lambda _: None, owner_pid=os.getpid())
        traced = Stack(local.run)
        yield traced
        traced.bus.close()
    finally:
        del os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"]
        os.environ |= given
        local.down()
        shutil.rmtree(local.run, ignore_errors=True)
