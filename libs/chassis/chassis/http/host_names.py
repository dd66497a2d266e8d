"""Look-ups of host names under eventlet, in real threads: the C library's resolver would hold up every green one.

A resolver that does not answer takes tens of seconds (5 s, twice, for each search domain). eventlet's own thread pool
is not used: its few threads hash passwords and decode pictures, which must not wait for a name, and a process that ends
joins them. Each look-up has a thread of its own, which nobody waits for once its asker has gone.

libpq, which resolves in C by itself, is given addresses (`database`).
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

#: Look-ups at once; strangers' names take three quarters of them at most (`look_ups`). Our choice.
_AT_ONCE = 256
_turns = Semaphore(_AT_ONCE)
_threading: Any = patcher.original("threading")
_look_up = socket.getaddrinfo
#: The thread of the event loop is the one that imports this.
_loop = _threading.get_ident()


def look_up_in_threads() -> None:
    """From now on `socket.getaddrinfo` keeps nobody waiting but its caller."""
    socket.getaddrinfo = eventlet.green.socket.getaddrinfo = _getaddrinfo


def _getaddrinfo(host: Any, *args: Any, **options: Any) -> list[Any]:
    """As socket's. Addresses need no look-up, and in a real thread there is nobody to hold up."""
    look_up = partial(_look_up, host, *args, **options)
    if not host or (isinstance(host, str) and is_address(host)) or _threading.get_ident() != _loop:
        return look_up()
    with _turns:
        return _in_thread(look_up)


def _in_thread(look_up: Callable[[], list[Any]]) -> list[Any]:
    """Each side closes its own end of a pipe; the thread's says that it is done. Raises what the look-up does."""
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
    except RuntimeError as problem:  # no further thread is to be had
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
