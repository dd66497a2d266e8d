"""DNS lookups under eventlet run in real threads, because the C library's resolver would block every green thread.

If no DNS server answers, a lookup takes tens of seconds (5 s, twice, for each search domain). So each lookup has its
own thread. When the caller has given up, the thread ends by itself, and nothing waits for it. eventlet's own thread
pool is not used: its few threads also hash passwords, which must not wait for lookups, and a process that ends would
wait for these threads.

libpq would resolve names in C itself. So it gets addresses instead of names (`db.database`).
"""

import os
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import eventlet.green.socket
from eventlet import patcher
from eventlet.hubs import trampoline
from eventlet.semaphore import Semaphore

from chassis.http.addresses import is_address

#: Concurrent lookups. Names given by strangers take at most three quarters of them (`resolver`). Each lookup is a
#: thread, of which a process should not have thousands.
_AT_ONCE = 256
_turns = Semaphore(_AT_ONCE)
_threading: Any = patcher.original("threading")
_look_up = socket.getaddrinfo
#: The event loop's thread, which imports this module.
_loop = _threading.get_ident()


def look_up_in_threads() -> None:
    """Replaces `socket.getaddrinfo`, so that a lookup blocks only the green thread that asks."""
    socket.getaddrinfo = eventlet.green.socket.getaddrinfo = _getaddrinfo


def _getaddrinfo(host: Any, *args: Any, **options: Any) -> list[Any]:
    """Replaces socket.getaddrinfo: runs each lookup in a separate thread.

    Lookups of IP addresses, and lookups that a real thread asks for, run in the calling thread.
    """
    look_up = partial(_look_up, host, *args, **options)
    if not host or (isinstance(host, str) and is_address(host)) or _threading.get_ident() != _loop:
        return look_up()
    with _turns:
        return _in_thread(look_up)


def _in_thread(look_up: Callable[[], list[Any]]) -> list[Any]:
    """Runs a lookup in a real thread, and waits for it on a pipe. Returns its rows, or raises its error."""
    ours, theirs = os.pipe()
    found: list[list[Any]] = []
    problems: list[Exception] = []

    def run() -> None:
        try:
            found.append(look_up())
        except Exception as problem:  # noqa: BLE001 - handed to the caller
            problems.append(problem)
        finally:
            os.close(theirs)

    try:
        _threading.Thread(target=run, name="host-name", daemon=True).start()
    except RuntimeError as problem:  # no thread can be started
        os.close(ours)
        os.close(theirs)
        raise socket.gaierror(socket.EAI_MEMORY, str(problem)) from problem
    try:
        trampoline(ours, read=True)
    finally:
        os.close(ours)
    if problems:
        raise problems[0]
    return found[0]
