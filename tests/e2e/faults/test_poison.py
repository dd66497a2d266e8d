"""A thousand kinds of unreadable messages on every queue: no process dies, and every message is quarantined."""

import time
import uuid
from collections import Counter

from e2e_kit.operator import Accounts, Operator
from e2e_kit.simulator import Simulator
from fault_kit.chaos import wait_until
from fault_kit.figures import Figures
from fault_kit.poison import Broker, kinds
from fault_kit.stack import WORKERS, FaultyStack

from chassis.bus.topology import RETRY_SECONDS, retry_queue

KINDS, CORE_KINDS = 1_000, 250
SERVICES = tuple(name for name in WORKERS if name != "gateway")
QUEUES = [f"{kind}.{name}" for kind in ("rpc", "events") for name in SERVICES]
#: Waits before an event is handled again: what lies there comes to the event queue by itself, here after a second.
RETRY_QUEUES = [retry_queue(name, seconds) for name in SERVICES for seconds in RETRY_SECONDS]
PUT_ASIDE_SECONDS = 120.0
#: The operator's command lists so many at most.
LISTED = 1000


def test_a_thousand_kinds_of_poison_on_every_queue_end_no_process_and_are_all_put_aside(
    accounts: Accounts,
    simulator: Simulator,
    operator: Operator,
    stack: FaultyStack,
    figures: Figures,
    is_core: bool,
) -> None:
    count = CORE_KINDS if is_core else KINDS
    before = {name: stack.starts(name) for name in WORKERS}
    with Broker(stack.env["AMQP_ADMIN_URL"]) as broker:
        broker.take_quarantined()
        queues = broker.consumed(QUEUES)
        assert {f"rpc.{name}" for name in SERVICES} <= set(queues), queues
        retry_queues = [name for name in RETRY_QUEUES if delivered_to(name) in queues]
        wanted: Counter[tuple[str, int]] = Counter()
        begin = time.monotonic()
        for kind, (body, headers, more) in enumerate(kinds(count)):
            for queue in queues:
                wanted[queue, kind] += 1
                reply = {"reply_to": "nowhere"} if queue.startswith("rpc") and len(body) % 2 else {}
                broker.send("", queue, body, headers, more | reply)
            broker.send("broadcasts", "", body, headers, more)
            for retry_queue_name in retry_queues[kind % len(RETRY_SECONDS) :: len(RETRY_SECONDS)]:
                wanted[delivered_to(retry_queue_name), kind] += 1
                broker.send("", retry_queue_name, body, headers, more | {"expiration": "1000"})
        sent = wanted.total()
        wait_until(lambda: broker.size("quarantine")[0] >= sent, PUT_ASIDE_SECONDS)
        seconds = time.monotonic() - begin
        listed = operator("quarantine", "list")
        quarantined = broker.take_quarantined()
        left = {name: broker.size(name)[0] for name in (*queues, *retry_queues) if broker.size(name)[0]}
    ends = {name: stack.starts(name) - times for name, times in before.items() if stack.starts(name) != times}
    figures.note(
        "poison", kinds=count, queues=len(queues) + len(retry_queues), sent=sent, quarantined=quarantined.total(),
        listed=len(listed), process_ends=sum(ends.values()), within=f"{seconds:.0f} s",
    )  # fmt: skip
    assert not ends, ends
    assert not left, left
    missing = {one: times for one, times in wanted.items() if quarantined[one] < times}
    assert not missing, list(missing.items())[:9]
    assert len(listed) == min(sent, LISTED)
    account = accounts.new(pages=("FB",))
    text = uuid.uuid4().hex
    account.api.post("/posts/publish", {"page_id": account.page_id(), "message": text})
    assert [post["text"] for post in simulator.posts(account.pages["FB"])] == [text]


def delivered_to(retry_queue_name: str) -> str:
    """Returns the queue to which RabbitMQ moves the messages of this retry queue."""
    return retry_queue_name.partition(".retry.")[0]
