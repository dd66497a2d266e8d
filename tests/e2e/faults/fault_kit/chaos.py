"""Causes faults of all kinds, one after the other, during a block."""

import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from types import TracebackType

from fault_kit.stack import WORKERS, FaultyStack

#: Weight of each kind of fault.
KINDS = {"kill": 26, "cut": 26, "freeze": 22, "skew": 16, "database": 6, "broker": 4}
#: Largest error of a worker's clock.
SKEW_SECONDS = 300.0
#: How long a link stays frozen: longer than heartbeats and database timeouts.
FROZEN_SECONDS = (0.5, 14.0)


class Chaos:
    """Causes a fault every `pause_seconds`, until `count` faults have taken effect or the block ends. The order
    depends on the seed, so that a run can be repeated. Use it in a `with` statement.
    """

    def __init__(self, stack: FaultyStack, count: int, pause_seconds: float, seed: int = 6) -> None:
        self.stack, self.count, self.pause_seconds = stack, count, pause_seconds
        self.hits: Counter[str] = Counter()
        self.failure: BaseException | None = None
        self._random = random.Random(seed)
        self._stop = threading.Event()
        self._timers: list[threading.Timer] = []
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Chaos":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        for timer in self._timers:
            timer.cancel()
        self.stack.mend()
        if kind is None and self.failure is not None:
            raise self.failure

    @property
    def is_done(self) -> bool:
        return self.hits.total() >= self.count

    def _run(self) -> None:
        kinds = [kind for kind, often in KINDS.items() for _ in range(often)]
        acts: dict[str, Callable[[], bool]] = {
            "kill": lambda: self._kill(self._random.choice(WORKERS), signal.SIGKILL),
            "cut": self._cut,
            "freeze": self._freeze,
            "skew": self._skew,
            "database": lambda: self._kill("postgres", self._random.choice((signal.SIGINT, signal.SIGKILL))),
            "broker": lambda: self._kill("rabbitmq", signal.SIGKILL),
        }
        try:
            while not self.is_done and not self._stop.is_set():
                kind = self._random.choice(kinds)
                if acts[kind]():
                    self.hits[kind] += 1
                    self._stop.wait(self.pause_seconds)
        except BaseException as error:  # noqa: BLE001 - told at the end of the block
            self.failure = error

    def _kill(self, name: str, number: signal.Signals) -> bool:
        """Kills a process if its last restart has finished. Returns whether it was killed."""
        if self.stack.states()[name]["state"] != "ready":
            return False
        self.stack.kill(name, number)
        return True

    def _cut(self) -> bool:
        self.stack.links.cut(*self._some_links())
        return True

    def _freeze(self) -> bool:
        names = self._some_links()
        self.stack.links.freeze(*names)
        timer = threading.Timer(self._random.uniform(*FROZEN_SECONDS), self.stack.links.thaw, names)
        self._timers.append(timer)
        timer.start()
        return True

    def _skew(self) -> bool:
        self.stack.skew(self._random.choice(WORKERS), self._random.uniform(-SKEW_SECONDS, SKEW_SECONDS))
        return True

    def _some_links(self) -> list[str]:
        """Chooses one link of a server or all of them; publishing's more often, because publishing does the tested
        work.
        """
        names = sorted(self.stack.links.ports)
        weights = [4 if name.startswith("publishing") else 1 for name in names]
        [name] = self._random.choices(names, weights)
        if self._random.random() < 0.15:
            return [other for other in names if other.endswith(name.partition("→")[2])]
        return [name]


def every(seconds: float, count: int) -> float:
    """Returns the pause, in seconds, between `count` faults in this time."""
    return seconds / count


def wait_until(look: Callable[[], bool], seconds: float) -> bool:
    """Polls until `look()` is true. Returns False if the time is up first."""
    end = time.monotonic() + seconds
    while not (true := look()):
        if time.monotonic() > end:
            return False
        time.sleep(0.25)
    return true
