"""The guides in docs/api agree with the tables of errors, events, plans and platforms."""

import re
from pathlib import Path
from typing import Any

from contracts.errors import ERRORS
from contracts.events import CLIENT_EVENTS
from contracts.plans import MB, PLANS, TIERS
from contracts.platforms import PLATFORMS

GUIDES = Path(__file__).parents[4] / "docs" / "api"


def rows(page: str) -> list[list[str]]:
    """Returns the cells of every row of a guide's tables, heads included."""
    lines = (GUIDES / page).read_text().splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" |")] for line in lines if line.startswith("| ")]


def test_the_guide_lists_every_error_with_what_to_do() -> None:
    listed = [row for row in rows("errors.md") if row[0] != "Code"]
    expected = [[row.code, str(row.http_status), row.message, row.recommended_fix] for row in ERRORS.values()]
    assert listed == expected


def test_the_guide_lists_every_event_with_its_fields() -> None:
    listed = {
        row[0].strip("`"): set(re.findall(r"`(\w+)`", row[2]))
        for row in rows("webhooks.md")
        if row[0].strip("`") in CLIENT_EVENTS
    }
    always = {"userId", "brandId"}
    expected: dict[str, set[str]] = {
        name: set(record.__struct_encode_fields__) - always for name, record in CLIENT_EVENTS.items()
    }
    assert listed == expected


def test_the_guide_shows_the_limits_of_every_plan() -> None:
    listed = {row[0]: row[1:] for row in rows("limits.md") if len(row) == 1 + len(TIERS)}
    figures: dict[str, Any] = {
        "Publishes per month": lambda plan: plan.publishes,
        "Replies per month": lambda plan: plan.replies,
        "Reads per month": lambda plan: plan.reads,
        "Webhook deliveries per month": lambda plan: plan.webhooks,
        "Requests per minute": lambda plan: plan.per_minute,
        "Requests per day": lambda plan: plan.per_day,
        "Storage in MB": lambda plan: plan.storage_bytes // MB,
        "Largest file in MB": lambda plan: plan.max_file_bytes // MB,
        "Active tokens": lambda plan: plan.active_tokens,
    }
    expected = {name: [f"{figure(PLANS[tier]):,}" for tier in TIERS] for name, figure in figures.items()}
    assert listed == {"Limit": [tier.capitalize() for tier in TIERS]} | expected


def test_the_guide_shows_the_guardrails_of_every_platform_that_has_them() -> None:
    listed = {row[0]: row[1:] for row in rows("limits.md") if row[0] in PLATFORMS}
    assert listed == {
        code: [str(platform.per_hour), str(platform.per_24h)]
        for code, platform in PLATFORMS.items()
        if platform.per_hour is not None
    }
