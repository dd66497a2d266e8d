"""Requests of many accounts at a steady rate, whatever the answers, and their outcomes: for tests of upgrades."""

import random
import ssl
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import httpx2

from chassis.ids import new_id
from local.containers.compose import Composed
from posthaste import Posthaste

CALL_SECONDS = 60.0
#: So many requests may wait for an answer at a time: ten seconds of them.
THREADS = 500
#: Every so many requests schedules a post, the others read.
A_WRITE_IN = 5
#: A request was refused if nobody answered it: nobody listened, the engine's proxy found no process behind the port
#: (ReadError, RemoteProtocolError), or an answer says so.
REFUSED = (502, 503, "ConnectError", "ReadError", "RemoteProtocolError")


class Tenant(NamedTuple):
    """An account with a page."""

    token: str
    page_id: str

    @classmethod
    def make(cls, stack: Composed, number: int) -> "Tenant":
        user = stack.ctl("user", "create", "--tier", "elite", "--email", f"{new_id('load')}@posthaste.test")
        user_id = user["user"]["id"]
        token = stack.ctl("token", "create", "--user", user_id, "--scopes", "*", "--name", "load")
        brand = stack.ctl("brand", "create", "--user", user_id, "--name", f"Load {number}")
        page = stack.ctl(
            "page", "link", "--brand", brand["id"], "--platform", "FB", "--name", f"Load {number}"
        )
        return cls(token["api_token"], page["id"])


@dataclass
class Write:
    """A post to schedule. `post_id` is empty until the answer has come."""

    tenant: Tenant
    body: dict[str, Any]
    key: str = field(default_factory=lambda: new_id("key"))
    post_id: str = ""


class Load:
    """Sends requests at fixed times, to each of the addresses in turn. `addresses` maps a name to the base URL of the
    API.
    """

    def __init__(
        self,
        tenants: Sequence[Tenant],
        addresses: Mapping[str, str],
        authority: ssl.SSLContext,
        a_second: float,
    ) -> None:
        self.tenants = tenants
        self.addresses = list(addresses.items())
        self.a_second = a_second
        self.writes: list[Write] = []
        self.outcomes: Counter[tuple[str, int | str]] = Counter()
        self.slowest_seconds = 0.0
        #: Seconds of the block in which something was refused.
        self.refused_at: set[int] = set()
        self._begun_at = 0.0
        limits = httpx2.Limits(max_connections=THREADS, max_keepalive_connections=THREADS)
        self._http = httpx2.Client(verify=authority, timeout=CALL_SECONDS, limits=limits)
        self._at = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(days=1)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Sends requests while the block runs, and waits for their answers. `outcomes` then holds those of this
        block.
        """
        self.outcomes.clear()
        self.refused_at.clear()
        self.slowest_seconds, self._begun_at = 0.0, time.monotonic()
        stop = threading.Event()
        with ThreadPoolExecutor(THREADS) as pool:
            sender = threading.Thread(target=self._send, args=(pool, stop))
            sender.start()
            try:
                yield
            finally:
                stop.set()
                sender.join()

    def _send(self, pool: ThreadPoolExecutor, stop: threading.Event) -> None:
        begun_at, number = time.monotonic(), 0
        while not stop.wait(max(0.0, begun_at + number / self.a_second - time.monotonic())):
            tenant = self.tenants[number % len(self.tenants)]
            name, base = random.choice(self.addresses)
            if number % A_WRITE_IN:
                pool.submit(self._call, name, "GET", f"{base}/posts/scheduled?limit=5", tenant)
            else:
                pool.submit(self._schedule, name, base, self._new_write(tenant))
            number += 1

    def _new_write(self, tenant: Tenant) -> Write:
        earlier = sum(it.tenant is tenant for it in self.writes)
        at = self._at + timedelta(hours=3 * earlier)  # a page has room for ten a day
        body = {"page_id": tenant.page_id, "message": new_id("post"), "scheduled_at": at.isoformat()}
        self.writes.append(write := Write(tenant, body))
        return write

    def _schedule(self, name: str, base: str, write: Write) -> None:
        answer = self._call(
            name, "POST", f"{base}/posts/schedule", write.tenant, json=write.body, key=write.key
        )
        if answer is not None and answer.status_code == 201:
            write.post_id = answer.json()["scheduled_post"]["id"]

    def _call(
        self, name: str, method: str, url: str, tenant: Tenant, *, json: Any = None, key: str = ""
    ) -> httpx2.Response | None:
        headers = {"Authorization": f"Bearer {tenant.token}"} | ({"Idempotency-Key": key} if key else {})
        begun_at = time.monotonic()
        try:
            answer = self._http.request(method, url, json=json, headers=headers)
        except httpx2.TransportError as error:
            self._note(name, type(error).__name__)
            return None
        self.slowest_seconds = max(self.slowest_seconds, time.monotonic() - begun_at)
        self._note(name, answer.status_code)
        return answer

    def _note(self, name: str, outcome: int | str) -> None:
        self.outcomes[name, outcome] += 1
        if outcome in REFUSED:
            self.refused_at.add(int(time.monotonic() - self._begun_at))

    def close(self) -> None:
        self._http.close()

    def refused(self, name: str) -> float:
        """Returns which share of the requests to this address was refused."""
        return self._sum(name, lambda it: it in REFUSED) / max(1, self._sum(name, lambda _: True))

    def failed(self) -> dict[tuple[str, int | str], int]:
        """Returns how often each outcome came that is neither a success nor a refusal, by address and status or
        error.
        """
        return {it: count for it, count in self.outcomes.items() if it[1] not in (200, 201, *REFUSED)}

    def told(self) -> str:
        figures = ", ".join(f"{name} {it} {n:,}" for (name, it), n in sorted(self.outcomes.items(), key=str))
        return f"{figures}; slowest {self.slowest_seconds:.1f} s; refused in the seconds {sorted(self.refused_at)}"

    def repeat_what_got_no_answer(self) -> None:
        """Repeats each write without an answer, with the same key, as every client does."""
        for write in self.writes:
            if not write.post_id:
                self._schedule(*self.addresses[0], write)

    def assert_nothing_is_lost_or_double(self) -> None:
        for tenant in self.tenants:
            asked = {it.body["message"]: it.post_id for it in self.writes if it.tenant is tenant}
            base = self.addresses[0][1].removesuffix("/api/v1")
            with Posthaste(tenant.token, base_url=base) as client:
                posts = [(row.message, row.id) for row in client.iterate_scheduled_posts()]
            assert sorted(posts) == sorted(asked.items())

    def _sum(self, name: str, counts: Any) -> int:
        return sum(n for (at, it), n in self.outcomes.items() if at == name and counts(it))
