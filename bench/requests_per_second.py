"""Measures requests per second with 1, 16 and 64 connections: the two floors, two lists, and POST /posts/schedule with
an idempotency key.
"""

import json
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from bench.floor import floors
from bench.load import Load, Measured, Variant, run
from bench.stack import Stack, Tenant
from bench.table import Row

#: Rounds, and seconds of each run. In a round each load runs once, and its median run counts, because the speed of the
#: machine changes by a third within a minute. The warm-up lets the gateway cache its callers again.
_ROUNDS, _SECONDS, _WARM_UP_SECONDS = 3, 2.5, 1.5
#: Numbers of connections: with one the latency counts, with more the rate.
_CONNECTIONS = (1, 16, 64)
#: Number of tenants. All loads together send up to 45,000 requests a minute; each tenant may send 300.
_TENANTS = 160
#: Load → number of connections → goal. With one connection: the highest ratio of its median latency to that of F1.
#: Otherwise: the lowest ratio of its rate to that of F1.
_GOALS = {
    "GET /pages (25)": {1: 3.0, 16: 0.5, 64: 0.5},
    "GET /posts/scheduled (25)": {1: 4.0, 16: 0.3, 64: 0.3},
    "POST /posts/schedule with a key": {1: 8.0, 16: 0.23, 64: 0.2},
}
_PAGES, _LIST, _SCHEDULE = _GOALS
_F0, _F1 = "F0", "F1"


def measure(stack: Stack) -> list[Row]:
    tenants = stack.make_tenants(_TENANTS)
    stack.schedule_posts(tenants, datetime.now(UTC) + timedelta(days=3))
    tokens = tuple(Variant(headers={"Authorization": f"Bearer {tenant.token}"}) for tenant in tenants)
    schedules = tuple(_schedules(tenants))
    keyed: dict[str, Any] = {
        "method": "POST",
        "headers": {"Idempotency-Key": "bench-{n}"},
        "variants": schedules,
    }
    runs: dict[tuple[str, int], list[Measured]] = defaultdict(list)
    with floors(stack) as address:
        loads = {(_F0, 64): _load(f"{address}/f0?text=hello", 64)}
        for count in _CONNECTIONS:
            loads |= {
                (_F1, count): _load(f"{address}/f1?text=hello", count),
                (_PAGES, count): _load(f"{stack.base_url}/pages?limit=25", count, variants=tokens),
                (_LIST, count): _load(f"{stack.base_url}/posts/scheduled?limit=25", count, variants=tokens),
                (_SCHEDULE, count): _load(f"{stack.base_url}/posts/schedule", count, **keyed),
            }
        share = len(schedules) // (_ROUNDS * len(_CONNECTIONS))
        for number in range(_ROUNDS):
            for key, load in loads.items():
                # no two runs use the same page and time, or the same idempotency key
                part = number * len(_CONNECTIONS) + _CONNECTIONS.index(key[1])
                runs[key].append(run(msgspec.structs.replace(load, first=part * share)))
    found = {key: _middle(runs[key]) for key in loads}
    f1, f0 = found[_F1, 64], found[_F0, 64]
    rows = [Row.ratio("F1 / F0 at 64 connections", f1.per_second, f0.per_second, at_least=0.4, unit="/s")]
    for name, goals in _GOALS.items():
        for count, goal in goals.items():
            rows.append(_row(name, count, goal, found[name, count], found[_F1, count]))
    return rows


def _row(name: str, connections: int, goal: float, measured: Measured, floor: Measured) -> Row:
    if connections == 1:
        row = Row.ratio(
            f"{name} median at 1 / F1's", measured.median_ms, floor.median_ms, at_most=goal, unit=" ms"
        )
    else:
        label = f"{name} at {connections} / F1 at {connections}"
        row = Row.ratio(label, measured.per_second, floor.per_second, at_least=goal, unit="/s")
    return row.noting(_statuses(measured))


def _load(url: str, connections: int, **more: Any) -> Load:
    return Load(url=url, connections=connections, seconds=_SECONDS, warm_up_seconds=_WARM_UP_SECONDS, **more)


def _middle(runs: list[Measured]) -> Measured:
    """Returns the run with the median rate, with the summed statuses of all runs."""
    statuses = sum((Counter(one.statuses) for one in runs), Counter())
    middle = sorted(runs, key=lambda one: one.per_second)[len(runs) // 2]
    return msgspec.structs.replace(middle, statuses=dict(statuses))


def _statuses(measured: Measured) -> str:
    """Describes the statuses other than 2xx; empty if every request succeeded."""
    odd = {status: count for status, count in measured.statuses.items() if not status.startswith("2")}
    return f"not 2xx: {odd}" if odd else ""


def _schedules(tenants: list[Tenant]) -> list[Variant]:
    """Returns requests that schedule ten posts on each page. They are two hours apart, so that no guardrail refuses
    one.
    """
    first = datetime.now(UTC) + timedelta(days=1)
    variants = []
    for slot in range(10):
        for page in range(len(tenants[0].page_ids)):
            for tenant in tenants:
                at = first + timedelta(hours=2 * slot)
                body = {
                    "page_id": tenant.page_ids[page],
                    "message": "Fresh bread at eight, number {n}",
                    "scheduled_at": at.isoformat(timespec="seconds"),
                }
                variants.append(
                    Variant(headers={"Authorization": f"Bearer {tenant.token}"}, body=json.dumps(body))
                )
    return variants
