"""Requests: the floors, GET /pages, and POST /posts/schedule with a key."""

import json
from datetime import UTC, datetime, timedelta

from bench.floor import floors
from bench.load import Load, Measured, Variant, run
from bench.stack import Stack, Tenant
from bench.table import Row

_SECONDS = 6.0


def measure(stack: Stack) -> list[Row]:
    tenants = stack.make_tenants()
    tokens = [Variant(headers={"Authorization": f"Bearer {tenant.token}"}) for tenant in tenants]
    pages_url = f"{stack.base_url}/pages?limit=25"
    with floors(stack) as address:
        f0, f1, f1_alone, f1_at_16 = (
            _run(f"{address}/{path}?text=hello", connections)
            for path, connections in (("f0", 64), ("f1", 64), ("f1", 1), ("f1", 16))
        )
        pages = run(Load(url=pages_url, connections=64, seconds=_SECONDS, variants=tuple(tokens)))
        pages_alone = run(Load(url=pages_url, connections=1, seconds=_SECONDS, variants=tuple(tokens)))
        schedule = run(
            Load(
                url=f"{stack.base_url}/posts/schedule",
                method="POST",
                connections=16,
                seconds=_SECONDS,
                headers={"Idempotency-Key": "bench-{n}"},
                variants=tuple(_schedules(tenants)),
            )
        )
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


def _run(url: str, connections: int) -> Measured:
    return run(Load(url=url, connections=connections, seconds=_SECONDS))


def _statuses(measured: Measured) -> str:
    """What came that was no success; nothing, as it should be, says nothing."""
    odd = {status: count for status, count in measured.statuses.items() if not status.startswith("2")}
    return f"not 2xx: {odd}" if odd else ""


def _schedules(tenants: list[Tenant]) -> list[Variant]:
    """Each page at four times two hours apart, so that no guardrail is met: tenants first, then pages, then times."""
    first = datetime.now(UTC) + timedelta(days=1)
    variants = []
    for slot in range(4):
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
