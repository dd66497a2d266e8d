"""Connects eventlet's hub to the I/O loop of the bus (`chassis.bus.green_loop`)."""

from collections.abc import Callable
from functools import partial
from typing import Any

from eventlet import hubs, patcher

from chassis.bus.green_loop import Cancel

_thread = patcher.original("threading").get_ident


class EventletHub:
    def watch(self, file: int, is_write: bool, ready: Callable[[], object]) -> Cancel:
        hub = hubs.get_hub()
        kind = hub.WRITE if is_write else hub.READ
        return partial(hub.remove, hub.add(kind, file, lambda _file: ready(), _ignore, _ignore))

    def after(self, seconds: float, callback: Callable[[], object]) -> Cancel:
        cancel: Cancel = hubs.get_hub().schedule_call_global(seconds, callback).cancel
        return cancel

    def soon(self, callback: Callable[[], object]) -> object:
        return hubs.get_hub().schedule_call_global(0, callback)

    def pause(self) -> object:
        return hubs.get_hub().switch()

    def current(self) -> Any:
        return hubs.greenlet.getcurrent()

    def thread(self) -> int:
        return int(_thread())


def _ignore(*_: object) -> None:
    """Does nothing; eventlet calls it when a watched file is closed. pika ends its watches before that."""
