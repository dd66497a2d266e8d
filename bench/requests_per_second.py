"""Requests: the floors, GET /pages, and POST /posts/schedule with a key."""

import json
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from bench.floor import floors
from bench.load import Load, Measured, Variant, run
from bench.stack import Stack, Tenant
from bench.table import Row

#: Each load runs so often, in turn with the others, and its middle run counts: a machine wanders by a third within a
#: minute, and with it a ratio of what ran a minute apart. The gateway's callers are known again after the warm-up.
_ROUNDS, _SECONDS, _WARM_UP_SECONDS = 3, 2.5, 1.5


def measure(stack: Stack) -> list[Row]:
    tenants = stack.make_tenants()
    tokens = tuple(Variant(headers={"Authorization": f"Bearer {tenant.token}"}) for tenant in tenants)
    schedules = tuple(_schedules(tenants))
    pages_url = f"{stack.base_url}/pages?limit=25"
    runs: dict[str, list[Measured]] = defaultdict(list)
    with floors(stack) as address:
        loads = {
            "f0": _load(f"{address}/f0?text=hello", 64),
            "f1": _load(f"{address}/f1?text=hello", 64),
            "pages": _load(pages_url, 64, variants=tokens),
            "f1 alone": _load(f"{address}/f1?text=hello", 1),
            "pages alone": _load(pages_url, 1, variants=tokens),
            "f1 at 16": _load(f"{address}/f1?text=hello", 16),
            "schedule": _load(
                f"{stack.base_url}/posts/schedule",
                16,
                method="POST",
                headers={"Idempotency-Key": "bench-{n}"},
                variants=schedules,
            ),
        }
        for number in range(_ROUNDS):
            first = number * len(schedules) // _ROUNDS
            for name, load in loads.items():
                runs[name].append(run(msgspec.structs.replace(load, first=first)))
    f0, f1, pages, f1_alone, pages_alone, f1_at_16, schedule = (_middle(runs[name]) for name in loads)
    return [
        Row.ratio("F1 / F0 at 64 connections", f1.per_second, f0.per_second, at_least=0.4, unit="/s"),
        Row.ratio("GET /pages (25) at 64 / F1", pages.per_second, f1.per_second, at_least=0.5, unit="/s")
        .noting(_statuses(pages)),
        Row.ratio("GET /pages median at 1 / F1's", pages_alone.median_ms, f1_alone.median_ms, at_most=3, unit=" ms")
        .noting(_statuses(pages_alone)),
        Row.ratio(
            "POST /posts/schedule with a key at 16 / F1 at 16",
            schedule.per_second, f1_at_16.per_second, at_least=0.2, unit="/s",
        ).noting(_statuses(schedule)),
    ]  # fmt: skip


def _load(url: str, connections: int, **more: Any) -> Load:
    return Load(url=url, connections=connections, seconds=_SECONDS, warm_up_seconds=_WARM_UP_SECONDS, **more)


def _middle(runs: list[Measured]) -> Measured:
    """The run in the middle, with the statuses of all."""
    statuses = sum((Counter(one.statuses) for one in runs), Counter())
    middle = sorted(runs, key=lambda one: one.per_second)[len(runs) // 2]
    return msgspec.structs.replace(middle, statuses=dict(statuses))


def _statuses(measured: Measured) -> str:
    """What came that was no success; nothing, as it should be, says nothing."""
    odd = {status: count for status, count in measured.statuses.items() if not status.startswith("2")}
    return f"not 2xx: {odd}" if odd else ""


def _schedules(tenants: list[Tenant]) -> list[Variant]:
    """Each page at ten times two hours apart, so that no guardrail is met: tenants first, then pages, then times."""
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
