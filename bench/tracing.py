"""What traces and metrics cost: the same load in turn on the stack as it is and on one that exports at 10 %."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

from bench.load import Load, Variant, run
from bench.requests_per_second import _schedules
from bench.stack import Stack, Tenant
from bench.table import Row
from local.stack import Stack as LocalStack

#: Each stack is measured so often, for so long; the machine's moods come out in the median of the pairs.
_ROUNDS, _SECONDS = 5, 4.0
_TENANTS = 60


def measure(stack: Stack) -> list[Row]:
    with _sink() as url, _traced(stack, url) as traced:
        tenants = [(one.base_url, one.make_tenants(_TENANTS)) for one in (stack, traced)]
        return [
            _row("GET /pages at 64", [_pages(*one) for one in tenants]),
            _row("POST /posts/schedule with a key at 16", [_posts(*one) for one in tenants]),
        ]


def _row(name: str, loads: list[Callable[[int], float]]) -> Row:
    """Both in turn, and who begins changes."""
    off: list[float] = []
    on: list[float] = []
    for number in range(_ROUNDS):
        order = ((loads[0], off), (loads[1], on))
        for load, found in order if number % 2 else order[::-1]:
            found.append(load(number))
    ratio = median(with_ / without for with_, without in zip(on, off, strict=True))
    row = Row.ratio(f"{name}: traced at 10 % / not traced", ratio, 1.0, at_least=0.95)
    return row.noting(f"{median(on):,.0f}/s, {median(off):,.0f}/s; pairs {', '.join(_pairs(on, off))}")


def _pairs(on: list[float], off: list[float]) -> list[str]:
    return [f"{with_ / without:.3f}" for with_, without in zip(on, off, strict=True)]


def _pages(base_url: str, tenants: list[Tenant]) -> Callable[[int], float]:
    tokens = tuple(Variant(headers={"Authorization": f"Bearer {tenant.token}"}) for tenant in tenants)
    load = Load(url=f"{base_url}/pages?limit=25", connections=64, seconds=_SECONDS, variants=tokens)
    return lambda _number: run(load).per_second


def _posts(base_url: str, tenants: list[Tenant]) -> Callable[[int], float]:
    variants = tuple(_schedules(tenants))

    def measured(number: int) -> float:
        return run(
            Load(
                url=f"{base_url}/posts/schedule",
                method="POST",
                connections=16,
                seconds=_SECONDS,
                headers={"Idempotency-Key": "tracing-{n}"},
                variants=variants,
                first=number * 100_003,
            )
        ).per_second

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
