"""A simulated internet for the processes of one stack: host names and public addresses that exist on this machine
only.

Python loads this module when it starts, if the folder is on PYTHONPATH. The module replaces sockets below eventlet and
gevent. The code that decides which addresses are public is unchanged: it sees real names and real addresses.

The environment variable INTERNET names a JSON file:
  names      host → list of DNS answers, each a list of addresses; they are given in turn, so an address may change
  addresses  public address → port of the server on the loopback that replaces it, whatever port is requested
The key `*` stands for any other name with a dot, or any other address that is not private. No connection leaves this
machine. In the simulator's own process nothing is replaced.
"""

import _socket
import errno
import itertools
import json
import os
import sys
from ipaddress import ip_address


def _install(path: str) -> None:
    with open(path, encoding="utf-8") as file:
        world = json.load(file)
    turns = {name: itertools.cycle(answers) for name, answers in world["names"].items()}
    look_up = _socket.getaddrinfo

    def getaddrinfo(host, port, *arguments, **options):  # type: ignore[no-untyped-def]
        name = host.decode() if isinstance(host, bytes) else host
        if name is None or name in ("", "localhost") or _is_address(name):
            return look_up(host, port, *arguments, **options)
        known = name.rstrip(".") if name.rstrip(".") in turns else "*"
        answer = next(turns[known], ()) if known in turns and "." in name else ()
        rows = [row for one in answer for row in look_up(one, port, *arguments, **options)]
        if not rows:
            raise _socket.gaierror(_socket.EAI_NONAME, "Name or service not known")
        return rows

    def route(address):  # type: ignore[no-untyped-def]
        if not isinstance(address, tuple) or not _is_address(address[0]):
            return address
        ip = ip_address(address[0])
        if ip.is_loopback or ip.is_unspecified or getattr(ip, "ipv4_mapped", None):
            return address
        port = world["addresses"].get(address[0]) or (ip.is_global and world["addresses"].get("*"))
        if not port:
            raise OSError(errno.ENETUNREACH, "Network is unreachable")
        return ("127.0.0.1" if ip.version == 4 else "::ffff:127.0.0.1", port)

    class Socket(_socket.socket):
        __slots__ = ()

        def connect(self, address):  # type: ignore[no-untyped-def]
            return super().connect(route(address))

        def connect_ex(self, address):  # type: ignore[no-untyped-def]
            try:
                return super().connect_ex(route(address))
            except OSError as error:
                return error.errno

    _socket.getaddrinfo = getaddrinfo
    _socket.socket = _socket.SocketType = Socket  # type: ignore[misc]


def _is_address(text: str) -> bool:
    try:
        ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return True


if "INTERNET" in os.environ and "simulator" not in sys.orig_argv:
    _install(os.environ["INTERNET"])
