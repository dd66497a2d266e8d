"""The channel over which a sandboxed process reads ranges of a file that stays in the storage."""

import socket
import struct
from collections.abc import Callable

_RANGE = struct.Struct("!QI")


def serve_ranges(channel: socket.socket, fetch: Callable[[int, int], bytes]) -> None:
    """Runs in the service: sends ranges until the other end is closed. Raises what `fetch` raises."""
    while len(asked := _receive(channel, _RANGE.size)) == _RANGE.size:
        offset, length = _RANGE.unpack(asked)
        channel.sendall(fetch(offset, length))


def request_range(channel: socket.socket, offset: int, length: int) -> bytes:
    channel.sendall(_RANGE.pack(offset, length))
    found = _receive(channel, length)
    if len(found) != length:
        raise EOFError("the range did not come")
    return found


def _receive(channel: socket.socket, length: int) -> bytes:
    """Returns `length` bytes, or fewer where the other end was closed."""
    received = bytearray()
    while len(received) < length and (piece := channel.recv(length - len(received))):
        received += piece
    return bytes(received)
