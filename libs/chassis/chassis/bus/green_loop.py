"""pika's I/O loop in a green thread. The loop waits in the hub of the process's green threads, and this hub watches the
loop's sockets all the time.

pika's own loop, with `select` patched, makes and removes a listener for each socket at every wait, and other green
threads wake it through a pipe. Here the listeners stay, and green threads of the same process wake the loop without a
system call. Real threads still use the pipe.

Processes with green threads install their hub (`chassis.run`, `chassis.runtime.green`). Other processes use pika's
loop.
"""

import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Protocol

from pika.adapters.select_connection import IOLoop, PollEvents, _PollerBase

#: Ends a watch or a timer.
Cancel = Callable[[], object]


class Hub(Protocol):
    """The functions of gevent's or eventlet's hub that the I/O loop needs.

    Callbacks run in the hub. `pause` returns when one of them switches back to the paused green thread.
    """

    def watch(self, file: int, is_write: bool, ready: Callable[[], object]) -> Cancel:
        """Calls `ready` whenever the file can be written (`is_write`) or read (otherwise). The returned function ends
        that.
        """

    def after(self, seconds: float, callback: Callable[[], object]) -> Cancel: ...

    def soon(self, callback: Callable[[], object]) -> object: ...

    def pause(self) -> object:
        """Lets other green threads run until one of them, or a callback, switches back to this one."""

    def current(self) -> Any:
        """Returns the green thread that is running."""

    def thread(self) -> int:
        """Returns the id of the operating system's thread in which the hub runs."""


_hub: Hub | None = None


def install(hub: Hub) -> None:
    """Sets the hub of this process's green threads. Connections opened later wait for data in it."""
    global _hub
    _hub = hub


class Loop(IOLoop):
    """pika's loop, with a callback at the end of each round."""

    def __init__(self) -> None:
        #: Runs before each wait. Set once the connection exists.
        self.before_wait: Callable[[], object] = lambda: None
        super().__init__()

    @staticmethod
    def _get_poller(get_wait_seconds: Any, process_timeouts: Any) -> Any:
        if _hub is None:
            return IOLoop._get_poller(get_wait_seconds, process_timeouts)
        return _GreenPoller(_hub, get_wait_seconds, process_timeouts)

    def process_timeouts(self) -> None:
        super().process_timeouts()
        self.before_wait()


class _GreenPoller(_PollerBase):
    """Waits for files and timers in a hub. Only one green thread runs at a time, so nothing here is locked."""

    def __init__(self, hub: Hub, get_wait_seconds: Any, process_timeouts: Any) -> None:
        self._hub = hub
        self._thread = hub.thread()
        self._watches: dict[int, dict[int, Cancel]] = {PollEvents.READ: {}, PollEvents.WRITE: {}}
        #: File → its events since the last round.
        self._ready: dict[int, int] = defaultdict(int)
        self._paused: Any = None
        self._is_woken = False
        #: The hub's timer that ends the wait, and when (monotonic). One that is early only adds a round.
        self._timer: Cancel | None = None
        self._timer_at = 0.0
        super().__init__(get_wait_seconds, process_timeouts)

    def wake_threadsafe(self) -> None:
        if self._hub.thread() != self._thread:
            super().wake_threadsafe()
        elif self._paused is not None and not self._is_woken:
            self._is_woken = True
            self._hub.soon(self._resume)

    def poll(self) -> None:
        self._watch_files()
        if not self._ready:
            self._pause(self._get_max_wait())
        ready, self._ready = self._ready, defaultdict(int)
        if ready:
            self._dispatch_fd_events(ready)

    def _pause(self, seconds: float) -> None:
        self._paused = self._hub.current()
        if seconds <= 0:
            self.wake_threadsafe()  # other green threads run before the loop's next callbacks
        else:
            self._set_timer(time.monotonic() + seconds, seconds)
        try:
            self._hub.pause()
        finally:
            self._paused, self._is_woken = None, False

    def _resume(self) -> None:
        paused, self._paused = self._paused, None
        if paused is not None:
            paused.switch()

    def _set_timer(self, at: float, seconds: float) -> None:
        if self._timer is not None:
            if self._timer_at <= at:
                return
            self._timer()
        self._timer, self._timer_at = self._hub.after(seconds, self._time_is_up), at

    def _time_is_up(self) -> None:
        self._timer = None
        self._resume()

    def _watch_files(self) -> None:
        for event, watches in self._watches.items():
            wanted = self._fd_events[event]
            if wanted == watches.keys():
                continue
            for file in watches.keys() - wanted:
                watches.pop(file)()
            for file in wanted - watches.keys():
                watches[file] = self._hub.watch(file, event == PollEvents.WRITE, self._noting(file, event))

    def _noting(self, file: int, event: int) -> Callable[[], object]:
        def note() -> None:
            if file in self._watches[event]:  # a callback before this one may have ended the watch
                self._ready[file] |= event
                self._resume()

        return note

    def _unregister_fd(self, fileno: int, events_to_clear: int) -> None:
        """Stops watching a file at once, because it is closed next."""
        for watches in self._watches.values():
            if fileno in watches:
                watches.pop(fileno)()
        self._ready.pop(fileno, None)

    def _init_poller(self) -> None:
        """Does nothing: `poll` begins to watch files."""

    def _uninit_poller(self) -> None:
        for watches in self._watches.values():
            while watches:
                watches.popitem()[1]()
        if self._timer is not None:
            self._timer()
            self._timer = None

    def _register_fd(self, fileno: int, events: int) -> None:
        """Does nothing: `poll` begins to watch files."""

    def _modify_fd_events(self, fileno: int, events: int, events_to_clear: int, events_to_set: int) -> None:
        """Does nothing: `poll` applies the change, so that a watch that begins and ends in the same round costs
        nothing."""
