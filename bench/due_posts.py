"""Measures how fast 5,000 due posts on 500 pages are published, as a ratio to the rate at which the simulator alone
can accept posts.
"""

import json
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import requests
from sqlalchemy import create_engine

from bench.load import Load, Variant, run
from bench.stack import Stack, Tenant
from bench.table import Row
from chassis.db import clock

_TENANTS, _PAGES, _POSTS = 20, 25, 10
_TOTAL = _TENANTS * _PAGES * _POSTS
_PATIENCE_SECONDS = 300.0


def measure(stack: Stack) -> list[Row]:
    requests.post(f"{stack.simulator_url}/_sim/reset", timeout=30).raise_for_status()
    raw = _simulator_rate(stack)
    requests.post(f"{stack.simulator_url}/_sim/reset", timeout=30).raise_for_status()
    tenants = stack.make_tenants(_TENANTS, _PAGES)
    first = datetime.now(UTC) + timedelta(hours=3)
    _schedule(stack, tenants, first)
    seconds = _send(stack, (first - datetime.now(UTC)).total_seconds() + _POSTS * 60 + 5)
    posts = requests.get(f"{stack.simulator_url}/_sim/posts", params={"platform": "FB"}, timeout=60).json()[
        "posts"
    ]
    texts: dict[str, list[int]] = defaultdict(list)
    for post in sorted(posts, key=lambda post: (post["created_at"], post["id"])):
        page, is_ours, number = post["text"].partition(" number ")
        if is_ours:  # otherwise a late request of `_simulator_rate`
            texts[page].append(int(number))
    sent = sum(len(numbers) for numbers in texts.values())
    return [
        Row.ratio(
            f"{_TOTAL:,} due posts / simulator's raw rate", sent / seconds, raw, at_least=0.3, unit="/s"
        ),
        Row.count("… lost", _TOTAL - sum(len(set(numbers)) for numbers in texts.values()), 0),
        Row.count("… sent twice", sent - sum(len(set(numbers)) for numbers in texts.values()), 0),
        Row.count("… pages out of order", sum(numbers != sorted(numbers) for numbers in texts.values()), 0),
    ]


def _simulator_rate(stack: Stack) -> float:
    account = requests.post(
        f"{stack.simulator_url}/_sim/accounts", json={"platform": "FB"}, timeout=10
    ).json()
    form = urlencode({"message": "raw {n}", "access_token": account["access_token"]}, safe="{} ")
    load = Load(
        url=f"{stack.simulator_url}/graph.facebook.com/v26.0/{account['account_id']}/feed",
        method="POST",
        connections=32,
        seconds=5.0,
        headers={"Content-Type": "application/x-www-form-urlencoded"},
        variants=(Variant(body=form.replace(" ", "+")),),
    )
    return run(load).per_second


def _schedule(stack: Stack, tenants: list[Tenant], first: datetime) -> None:
    """Schedules ten posts on each page through the API, a minute apart."""
    session = requests.Session()
    for number in range(_POSTS):
        for tenant in tenants:
            for page_id in tenant.page_ids:
                answer = session.post(
                    f"{stack.base_url}/posts/schedule",
                    headers={"Authorization": f"Bearer {tenant.token}", "Content-Type": "application/json"},
                    data=json.dumps(
                        {
                            "page_id": page_id,
                            "message": f"{page_id} number {number}",
                            "scheduled_at": (first + timedelta(minutes=number)).isoformat(),
                        }
                    ),
                    timeout=30,
                )
                answer.raise_for_status()


def _send(stack: Stack, shift_seconds: float) -> float:
    """Shifts the clock past all due times. Returns the seconds until the last post is published, at most 300."""
    _shift(stack, shift_seconds)
    began = time.monotonic()
    try:
        while time.monotonic() - began < _PATIENCE_SECONDS:
            rows = stack.query("publishing", "SELECT count(*) FROM posts WHERE state = 'published'")
            if int(str(rows[0][0])) >= _TOTAL:
                break
            time.sleep(0.1)
        return time.monotonic() - began
    finally:
        _shift(stack, 0)


def _shift(stack: Stack, seconds: float) -> None:
    """Shifts the clock of every service and of the simulator, as `ctl clock shift` does."""
    for name, url in stack.env.items():
        if name.startswith("DATABASE_URL_"):
            engine = create_engine(url)
            with engine.begin() as connection:
                clock.set_shift(connection, seconds)
            engine.dispose()
    requests.post(f"{stack.simulator_url}/_sim/clock", json={"shift_seconds": seconds}, timeout=10)
