"""Measures webhook deliveries to live receivers: rate, delay, fairness, and whether every event arrives although
processes are killed.
"""

import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import psutil

from bench import green_posts
from bench.events import Events, sourced
from bench.receiver import Running, running
from bench.source.staging import stage
from bench.stack import Stack
from bench.table import Row
from chassis.db.database import Database
from chassis.ids import new_id
from contracts.accounts import CreateUser
from contracts.caller import Caller, operator
from contracts.webhooks import CreateSubscription, SubscriptionId
from local.processes.table import read_state

#: Number of timed deliveries in a round, and of rounds. The floor is measured before and after each round.
_FAST, _ROUNDS = 3_000, 3
_PER_SECOND, _SECONDS = 50, 12.0
_ENDPOINTS, _BACKLOG = 100, 1_000
_STORM, _KILLS, _VICTIMS = 20_000, 9, ("webhooks", "publishing", "rabbitmq")
_PATIENCE_SECONDS = 300.0


def measure(stack: Stack) -> list[Row]:
    with running() as receiver:
        with sourced(stack) as events:
            rows = [
                _rate(stack, receiver, events),
                _latency(stack, receiver, events),
                _fairness(stack, receiver, events),
            ]
        return [*rows, *_storm(stack, receiver)]


def _rate(stack: Stack, receiver: Running, events: Events) -> Row:
    """Measures the rate between the first and the last of 3,000 deliveries whose events are staged as fast as
    possible. Includes the way of the events over the bus.
    """
    account, _ = _subscribed(stack, f"{receiver.address}/fast")
    _deliver(receiver, events, account, 200)
    rates, floors = [], [green_posts.measure(f"{receiver.address}/floor")]
    for _ in range(_ROUNDS):
        times = _deliver(receiver, events, account, _FAST)
        rates.append(len(times) / (times[-1] - times[0]))
        floors.append(green_posts.measure(f"{receiver.address}/floor"))
    name = "deliveries of one process / plain requests posts"
    return Row.ratio(name, _median(rates), _median(floors), at_least=0.5, unit="/s")


def _latency(stack: Stack, receiver: Running, events: Events) -> Row:
    account, _ = _subscribed(stack, f"{receiver.address}/fast")
    _deliver(receiver, events, account, 50)
    late = _paced(receiver, events, [account])
    return Row.limit(f"event committed → first attempt, p99 at {_PER_SECOND}/s", _p99(late), 500, "ms")


def _fairness(stack: Stack, receiver: Running, events: Events) -> Row:
    """Measures the delay of 99 endpoints, with and without another endpoint that never answers and has 1,000 waiting
    deliveries. Each endpoint belongs to another account.
    """
    accounts = [_subscribed(stack, f"{receiver.address}/fast/{n}")[0] for n in range(1, _ENDPOINTS)]
    _paced(receiver, events, accounts)
    without, beside = [], []
    for _ in range(_ROUNDS):
        without.append(_p99(_paced(receiver, events, accounts)))
        hanging, remove = _subscribed(stack, f"{receiver.address}/hang")
        events.stage([hanging], _BACKLOG)
        _await_backlog(stack, hanging)
        beside.append(_p99(_paced(receiver, events, accounts)))
        remove()
    name = f"1 of {_ENDPOINTS} endpoints hangs: p99 of the others / without it"
    return Row.ratio(name, _median(beside), _median(without), at_most=1.2, unit=" ms")


def _await_backlog(stack: Stack, account: str) -> None:
    """Waits until the service webhooks has stored the deliveries of all staged events of this account."""
    waiting = (
        "SELECT count(*) FROM deliveries d JOIN subscriptions s ON s.id = d.subscription_id"
        f" WHERE s.account_id = '{account}'"
    )
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while int(str(stack.query("webhooks", waiting)[0][0])) < _BACKLOG and time.monotonic() < deadline:
        time.sleep(0.2)


def _storm(stack: Stack, receiver: Running) -> list[Row]:
    """Stages 20,000 events in publishing's outbox while webhooks, publishing and RabbitMQ are killed at random times.
    Counts the events that are lost and those that arrive twice.
    """
    chance, (account, _) = random.Random(4), _subscribed(stack, f"{receiver.address}/fast")
    database = Database(stack.env["DATABASE_URL_PUBLISHING"], pool_size=1)
    receiver.forget()
    staged: set[str] = set()
    kills: list[str] = []
    next_kill, give_up_at = time.monotonic() + 2.0, time.monotonic() + 2 * _PATIENCE_SECONDS
    while time.monotonic() < give_up_at:
        if len(staged) < _STORM:
            staged |= set(stage(database, (account,), 250))
        if len(kills) < _KILLS and time.monotonic() > next_kill:
            kills.append(_VICTIMS[len(kills)] if len(kills) < len(_VICTIMS) else chance.choice(_VICTIMS))
            _kill(stack, kills[-1])
            next_kill = time.monotonic() + chance.uniform(4.0, 12.0)
        counts = Counter(event_id for _, event_id, *_ in receiver.seen())
        if len(staged) >= _STORM and len(kills) == _KILLS and staged <= counts.keys():
            break
        time.sleep(0.5)
    database.close()
    again = sum(counts.values()) - len(counts)
    killed = ", ".join(f"{name} {number}" for name, number in sorted(Counter(kills).items()))
    return [
        Row.count(f"{_STORM:,} events, killed at random: lost", len(staged - counts.keys()), 0).noting(
            killed
        ),
        Row.limit("… delivered twice, with the same id", again, _STORM / 1_000, "times"),
    ]


def _subscribed(stack: Stack, url: str) -> tuple[str, Callable[[], object]]:
    """Creates an account with a subscription. Returns the account's id and a function that removes the subscription."""
    accounts, webhooks = stack.bus.service("accounts"), stack.bus.service("webhooks")
    user = CreateUser(email=f"{new_id('bench')}@posthaste.test", tier="elite")
    account: str = accounts.create_user(operator("req_bench"), user).user.id
    caller = Caller(account_id=account, user_id=account, tier="elite", operation_id=new_id("op"))
    request = CreateSubscription(name="Bench", url=url, events=("post.failed",))
    made = SubscriptionId(id=webhooks.create_subscription(caller, request).id)
    return account, lambda: webhooks.delete_subscription(caller, made)


def _deliver(receiver: Running, events: Events, account: str, count: int) -> list[float]:
    """Stages `count` events of one account. Returns the times at which they arrived, sorted, in Unix seconds."""
    receiver.forget()
    for _ in range(0, count, 200):
        events.stage([account], min(200, count))
    return sorted(at for *_, at in _arrived(receiver, count))


def _paced(receiver: Running, events: Events, accounts: Sequence[str]) -> list[float]:
    """Stages 50 events a second for 12 s, for the accounts in turn. Returns for each event the milliseconds from its
    commit to the first attempt to deliver it.
    """
    receiver.forget()
    committed: dict[str, float] = {}
    began = time.monotonic()
    for number in range(int(_PER_SECOND * _SECONDS)):
        time.sleep(max(0.0, began + number / _PER_SECOND - time.monotonic()))
        staged = events.stage([accounts[number % len(accounts)]], 1)
        committed[staged.event_ids[0]] = staged.committed_at
    first: dict[str, float] = defaultdict(lambda: float("inf"))
    for _, event_id, _, _, at in _arrived(receiver, len(committed), path="/fast"):
        first[event_id] = min(first[event_id], at)
    return [(first[event_id] - at) * 1000 for event_id, at in committed.items()]


def _arrived(receiver: Running, count: int, path: str = "") -> list[tuple[str, str, str, int, float]]:
    """Waits for `count` deliveries to paths that begin with `path`, at most 300 s. Returns those that have arrived."""
    give_up_at = time.monotonic() + _PATIENCE_SECONDS
    while True:
        seen = [row for row in receiver.seen() if row[0].startswith(path)]
        if len(seen) >= count or time.monotonic() > give_up_at:
            return seen
        time.sleep(0.2)


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def _p99(values: Sequence[float]) -> float:
    return sorted(values)[int(len(values) * 0.99)]


def _kill(stack: Stack, name: str) -> None:
    """Kills a process of the stack and its children with SIGKILL. The supervisor starts it again."""
    pid = read_state(stack.run)[name]["pid"]
    if not pid:
        return
    try:
        process = psutil.Process(int(str(pid)))
        for one in [*process.children(recursive=True), process]:
            one.kill()
    except psutil.NoSuchProcess:
        """It has ended already."""
