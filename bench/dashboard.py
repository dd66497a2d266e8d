"""Measures the dashboard for an account with much data: the time of a page without the API's calls, its first paint in
Chromium, and the memory of the dashboard's process.

The account has 50,000 planned posts, 2,000 of them in the next month, and a post with 10,000 comments.
"""

import re
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from statistics import median, quantiles

import requests

from bench.stack import Stack, Tenant
from bench.table import Row
from local.paths import ROOT
from local.processes.table import NotReady
from local.processes.watch import status
from local.servers import browser

#: Planned posts of the account, and those of them in the next month.
POSTS, IN_MONTH = 50_000, 2_000
COMMENTS = 10_000
USERS = 20
#: The screens that show much data.
_LARGE = ("calendar", "list", "inbox")
#: Number of pages that each user opens.
_ROUNDS = 6
#: How long each user looks at a page.
_PAUSE_SECONDS = 1.0
_MINUTE_SECONDS = 61.0
#: Measurements of each screen; their median counts.
_PAINTS = 5
_FIRST_PAINT = """
const done = arguments[arguments.length - 1];
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) if (one.name === "first-contentful-paint") done(one.startTime);
}).observe({ type: "paint", buffered: true });
"""
#: Copies the account's first post, each with an id and a time of its own.
_COPIES = """
INSERT INTO posts SELECT made.*
FROM (SELECT * FROM posts WHERE account_id = '{account}' AND state = 'queued' LIMIT 1) AS one,
    generate_series({first}, {last}) AS n,
    LATERAL jsonb_populate_record(NULL::posts, to_jsonb(one) || jsonb_build_object(
        'id', 'pst_' || lpad(n::text, 26, '0'), 'operation_id', NULL, 'scheduled_at', {at}, 'out_at', {at})) AS made
"""


class Person:
    """A signed-in user of the dashboard, with an HTTP client in place of a browser."""

    def __init__(self, url: str, session: str) -> None:
        self._url, self._http = url, requests.Session()
        self._http.cookies.update({"posthaste_session": session, "posthaste_form": "k" * 43})

    def open(self, path: str) -> tuple[float, float, int, int]:
        """Opens a page. Returns its time and the part of it that is not spent in calls of the API (both in
        milliseconds), the number of those calls, and the number of posts or comments on the page.
        """
        begun_at = time.perf_counter()
        answer = self._http.get(self._url + path, timeout=60)
        taken = 1000 * (time.perf_counter() - begun_at)
        answer.raise_for_status()
        assert "/sign-in" not in answer.url, path
        found = re.search(
            r'page;dur=([\d.]+), api;dur=[\d.]+;desc="(\d+) calls"', answer.headers["Server-Timing"]
        )
        assert found is not None
        rows = len(re.findall(r'<li class="(?:slot|row)', answer.text)) + answer.text.count('class="said"')
        return taken, float(found[1]), int(found[2]), rows


def measure(stack: Stack) -> list[Row]:
    [tenant] = stack.make_tenants(1, pages=25)
    begin, month = _next_month()
    stack.schedule_posts([tenant], begin + timedelta(days=9, hours=12))
    _fill(stack, tenant, begin)
    busy_post = _discuss(stack, tenant)
    session = stack.session_of(tenant)
    url = stack.env["DASHBOARD_URL"]
    screens = {
        "calendar, a month of 2,000 posts": f"/calendar?month={month}",
        "list of 50,000 posts": "/posts",
        "inbox": "/comments",
        "inbox, the post with 10,000 comments": f"/comments/of/{busy_post}",
        "overview": "/",
        "composer": "/compose",
        "account": "/account",
        "developers": "/developers",
    }
    person = Person(url, session)
    rows = []
    for name, path in screens.items():
        person.open(path)
        first = sorted(person.open(path) for _ in range(3))[1]
        if name.startswith(_LARGE):
            made_of = f"{first[3]} rows, {first[2]} calls, {first[1]:.0f} ms besides them"
            rows.append(Row.limit(f"{name}: complete at one user", first[0], 500, "ms").noting(made_of))
    rows += _paints(url, session, {name: path for name, path in screens.items() if name.startswith(_LARGE)})
    for name, spread_seconds in (
        (f"{USERS} users", _PAUSE_SECONDS),
        (f"{USERS} users who click at once", 0.0),
    ):
        time.sleep(_MINUTE_SECONDS)  # the account has used up the calls that it may make in this minute
        own = _crowd(url, session, tuple(screens.values()), spread_seconds)
        at = f"median {median(own):.0f}, at most {max(own):.0f}"
        rows.append(
            Row.limit(f"p95 of a page besides its calls, {name}", quantiles(own, n=20)[-1], 50, "ms").noting(
                at
            )
        )
    used = next(int(str(it["memory_bytes"])) for it in status(stack.run) if it["name"] == "dashboard") / 2**20
    rows.append(Row.limit("memory of the dashboard afterwards", used, 90, "MB"))
    return rows


def _paints(url: str, session: str, screens: dict[str, str]) -> list[Row]:
    """Measures the time from the start of a navigation to the first text or image, for each screen in Chromium.
    Without Chromium returns no rows.
    """
    try:
        programs = browser.install(print)
    except NotReady as missing:
        print(f"· no first paint is measured: {missing}", file=sys.stderr)
        return []
    sys.path.append(str(ROOT / "tests/e2e"))
    chromium = import_module("e2e_kit.chromium").chromium
    rows = []
    with tempfile.TemporaryDirectory() as home, chromium(programs, Path(home)) as window:
        window.open(f"{url}/sign-in")
        window.run(f"document.cookie = 'posthaste_session={session}; path=/'")
        for name, path in screens.items():
            seconds = []
            for _ in range(_PAINTS):
                window.open(url + path)
                seconds.append(float(window.run_async(_FIRST_PAINT)))
            worst = f"median of {_PAINTS}, at most {max(seconds):.0f}"
            rows.append(
                Row.limit(f"{name}: first paint in Chromium", median(seconds), 500, "ms").noting(worst)
            )
    return rows


def _crowd(url: str, session: str, paths: Sequence[str], spread_seconds: float) -> list[float]:
    """Lets 20 users open six pages each, with a pause of a second after each page. Their first clicks are spread evenly
    over `spread_seconds`. Returns the milliseconds of each page without the API's calls.
    """
    start = threading.Barrier(USERS)

    def use(number: int) -> list[float]:
        person, own = Person(url, session), []
        start.wait()
        time.sleep(spread_seconds * number / USERS)
        for turn in range(_ROUNDS):
            own.append(person.open(paths[(number + turn) % len(paths)])[1])
            time.sleep(_PAUSE_SECONDS)
        return own

    with ThreadPoolExecutor(USERS) as pool:
        return [one for found in pool.map(use, range(USERS)) for one in found]


def _next_month() -> tuple[datetime, str]:
    now = datetime.now(UTC)
    first = (now.replace(day=1) + timedelta(days=32)).replace(
        day=1, hour=0, minute=0, second=0, microsecond=0
    )
    return first, f"{first:%Y-%m}"


def _fill(stack: Stack, tenant: Tenant, begin: datetime) -> None:
    """Adds planned posts to the tenant's account: 2,000 in the next month, the others in the year after it."""
    first = f"timestamptz '{begin.isoformat()}'"
    for low, high, at in (
        (1, IN_MONTH - 25, f"{first} + n * interval '21 minutes'"),
        (IN_MONTH, POSTS - 25, f"{first} + interval '40 days' + n * interval '10 minutes'"),
    ):
        stack.change("publishing", _COPIES.format(account=tenant.account_id, first=low, last=high, at=at))


def _discuss(stack: Stack, tenant: Tenant) -> str:
    """Publishes a post and adds 10,000 visitors' comments to it. Returns the post's id."""
    body = {"page_id": tenant.page_ids[0], "message": "What do you think?"}
    headers = {"Authorization": f"Bearer {tenant.token}"}
    post = requests.post(f"{stack.base_url}/posts/publish", json=body, headers=headers, timeout=60).json()
    http = requests.Session()
    for number in range(COMMENTS):
        said = {
            "platform": "FB",
            "post_id": post["platform_post_id"],
            "from": "Vera",
            "text": f"Thought {number}",
        }
        http.post(f"{stack.simulator_url}/_sim/comments", json=said, timeout=10).raise_for_status()
    found: str = post["post_id"]
    return found
