"""`./dev bench scale [--scale 0.1]`: measures what each operation costs on full tables, compared with small ones.

There are two sets of databases in a PostgreSQL that only this benchmark uses (`server.py`). They are filled by COPY
and then analyzed. The full set has the sizes of `sizes.py` (five million posts, 300,000 of them due). The small one
has just enough rows for each operation to do the same work. The operations run in this process, with the code of the
services, on both sets in turn; only the platforms are simulated.

Prints for each operation the medians of both sets, their ratio, and the number of blocks that one run reads. Then it
prints the due posts per second with all due posts and with 5,000, and the row versions written for each published
post. The exit code is 1 when an operation exceeds the highest allowed ratio.

To take no more than twelve minutes on two cores, the databases do not wait for the disk (fsync, full_page_writes and
synchronous_commit are off for both sets). Indexes are built after COPY; triggers and autovacuum are off. The tables
are logged, as in production.
"""

import argparse
import logging
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import structlog
from cryptography.fernet import Fernet

from bench.scale import publishing_operations, quota_world, webhooks_world
from bench.scale.comparing import Operation, compare
from bench.scale.publishing_world import Publishing
from bench.scale.quota_world import Quota
from bench.scale.server import SETS, running
from bench.scale.sizes import FULL, SMALL
from bench.scale.webhooks_world import Webhooks
from bench.table import Row, render

#: Due posts that one round sends on each set (the small one has 5,001), and the number of rounds.
_SENT, _ROUNDS = 4_500, 5
#: After this time no further round begins: if sending is slow, one round shows it.
_SENDING_SECONDS = 90.0
#: The highest allowed number; docs/scale.md lists the row versions by table.
_ROW_VERSIONS = 8.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench scale")
    parser.add_argument("--scale", type=float, default=1.0, help="a part of the full sizes, for a quick look")
    scale: float = parser.parse_args().scale
    for name in ("CREDENTIAL_KEYS", "WEBHOOK_SECRET_KEYS"):
        os.environ.setdefault(name, Fernet.generate_key().decode())
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    run = Path(os.environ["TEST_RUN_DIR"])
    with running(run, tell):
        rows = measure(run, scale)
    print(render(rows))
    missed = [row for row in rows if not row.met]
    print(f"\n{len(rows) - len(missed)} of {len(rows)} bars are met")
    return int(bool(missed))


def measure(run: Path, scale: float) -> list[Row]:
    began, sizes = time.monotonic(), (SMALL, FULL.times(scale))
    posts = [Publishing(run, each, size) for each, size in zip(SETS, sizes, strict=True)]
    units = [Quota(run, each, size) for each, size in zip(SETS, sizes, strict=True)]
    hooks = [Webhooks(run, each, size) for each, size in zip(SETS, sizes, strict=True)]
    worlds: list[Any] = [*posts, *units, *hooks]
    try:
        for world in worlds:
            _seed(world)
        tell(f"all are filled: {time.monotonic() - began:.0f} s")
        return [
            *_compare(publishing_operations.lists(), posts),
            *_compare(publishing_operations.loops(), posts),
            *_compare(publishing_operations.writes(), posts),
            *_compare(quota_world.operations(), units),
            *_compare(webhooks_world.operations(), hooks),
            *_sending(*posts),
        ]
    finally:
        for world in worlds:
            world.close()


def _seed(world: Any) -> None:
    began = time.monotonic()
    world.seed()
    tell(f"{world.name} is filled: {time.monotonic() - began:.0f} s")


def _compare(operations: Sequence[Operation[Any]], sides: Sequence[Any]) -> list[Row]:
    rows = []
    for operation in operations:
        row = compare(operation, *sides).row
        tell(f"{row.name}: {row.figure} ({row.made_of})")
        rows.append(row)
    return rows


def _sending(small: Publishing, full: Publishing) -> list[Row]:
    """Measures how many due posts are sent per second, on both sets in turn, and how many row versions one post writes
    in the full set.
    """
    rates: dict[Publishing, list[float]] = {small: [], full: []}
    versions: list[float] = []
    give_up_at = time.monotonic() + _SENDING_SECONDS
    for number in range(_ROUNDS):
        if number and time.monotonic() > give_up_at:
            break
        for world in (small, full) if number % 2 else (full, small):
            world.requeue_due()
            before, sent = world.row_versions(), world.platform.count
            rates[world].append(world.send(_SENT))
            if world is full:
                versions.append((world.row_versions() - before) / (world.platform.count - sent))
            tell(f"due posts on {world.name}: {rates[world][-1]:.0f}/s")
    # The median of the rounds' ratios: both sets of a round ran at nearly the same time, so a slow machine slows both.
    nearest = sorted(zip(rates[full], rates[small], strict=True), key=lambda pair: pair[0] / pair[1])
    name = f"due posts with {full.sizes.due:,} due / with {small.sizes.due:,}"
    rate = Row.ratio(name, *nearest[len(nearest) // 2], at_least=0.9, unit="/s")
    scheduled, sent_with = _versions_of_schedule(full), median(versions)
    # Rounded to tenths: the lease row of the worker, which is renewed every 2 s, adds a few thousandths.
    versions_each = round(scheduled + sent_with, 1)
    written = Row.limit("row versions of a published post", versions_each, _ROW_VERSIONS, "")
    return [rate, written.noting(f"{scheduled:.2f} to schedule it, {sent_with:.2f} from due to published")]


def _versions_of_schedule(world: Publishing, count: int = 100) -> float:
    run: Callable[[Publishing, int], object] = publishing_operations.schedule_any
    before = world.row_versions()
    for number in range(count):
        run(world, 100 + number)
    return (world.row_versions() - before) / count


def tell(line: str) -> None:
    print(f"· {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
