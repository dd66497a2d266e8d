"""The tables of plans, guardrails and records agree with the specification."""

import re
from pathlib import Path

import msgspec
import pytest

from contracts.caller import Caller
from contracts.errors import ApiError
from contracts.plans import MB, PLANS, TIERS
from contracts.platforms import PLATFORMS, parse_platform
from contracts.publishing import Comment, SchedulePost

SPEC = (Path(__file__).parents[4] / "docs" / "spec.md").read_text()


def spec_row(name: str) -> list[int]:
    line = next(line for line in SPEC.splitlines() if line.startswith(f"| {name}"))
    values = []
    for cell in line.strip("|").split("|")[1:]:
        number = int(re.sub(r"\D", "", cell))
        values.append(number * 1024 if "GB" in cell else number)
    return values


@pytest.mark.parametrize(
    ("row", "field", "unit"),
    [
        ("Publishes per month", "publishes", 1),
        ("Comment replies per month", "replies", 1),
        ("Read requests per month", "reads", 1),
        ("Webhook deliveries per month", "webhooks", 1),
        ("Requests per minute", "per_minute", 1),
        ("Concurrent upload storage", "storage_bytes", MB),
        ("Max file size per upload", "max_file_bytes", MB),
        ("Active keys", "active_tokens", 1),
    ],
)
def test_a_plan_s_limits_are_the_specification_s(row, field, unit):
    assert [getattr(PLANS[tier], field) for tier in TIERS] == [value * unit for value in spec_row(row)]


def test_guardrails_are_the_specification_s():
    for line in re.findall(r"^\| (?:FB|IG|LN|TT|TW) \| \d+ \| \d+ \|$", SPEC, re.MULTILINE):
        code, per_hour, per_24h = (cell.strip() for cell in line.strip("|").split("|"))
        assert (PLATFORMS[code].per_hour, PLATFORMS[code].per_24h) == (int(per_hour), int(per_24h))
    assert PLATFORMS["YT"].per_hour is None


@pytest.mark.parametrize("spelling", ["FB", "fb", "facebook", "Facebook", "FACEBOOK"])
def test_a_platform_is_known_by_code_and_name_in_any_case(spelling):
    assert parse_platform(spelling) == "FB"


@pytest.mark.parametrize("spelling", ["", "meta", "F", "FB ", "ｆｂ"])
def test_anything_else_is_no_platform(spelling):
    assert parse_platform(spelling) is None


def test_a_record_of_a_newer_release_is_read_without_its_new_fields():
    raw = b'{"page_id":"pag_1","scheduled_at":"2026-12-01T09:00:00Z","message":"hi","invented_later":{"a":1}}'
    assert msgspec.json.decode(raw, type=SchedulePost).message == "hi"


def test_a_record_of_an_older_release_is_read_with_defaults_for_what_it_lacks():
    assert msgspec.json.decode(b'{"account_id":"a","user_id":"u"}', type=Caller).brand_ids is None


def test_a_comment_s_author_is_called_from_on_the_wire():
    assert "from" in {field.encode_name for field in msgspec.structs.fields(Comment)}


def test_a_thing_of_another_account_is_not_found_and_a_brand_out_of_reach_is_not_authorized():
    caller = Caller(account_id="usr_1", user_id="usr_1", brand_ids=("brd_1",))
    with pytest.raises(ApiError, match="NOT_FOUND"):
        caller.check_reach("usr_2", "brd_1")
    with pytest.raises(ApiError, match="BRAND_NOT_AUTHORIZED"):
        caller.check_reach("usr_1", "brd_2")
    caller.check_reach("usr_1", "brd_1")
