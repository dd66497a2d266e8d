"""Reads the bodies of forms, with limits on how many arrive at once from one network and on how long each may take.

A thread waits while a body arrives. Without these limits, a few clients that send slowly would take all threads, and
nobody else would see a page.
"""

import socket
import threading
from collections import Counter
from ipaddress import ip_address

from flask import Request

#: Larger bodies have files. They have places of their own, so that forms are taken while files are uploaded.
LARGE_BYTES = 2**20
#: How long a body may take: a form arrives at once; files as long as in the API (`_MAX_SECONDS` of its upload).
FORM_SECONDS, FILES_SECONDS = 15.0, 15 * 60.0


class BodyReader:
    """Reads the bodies of requests, and limits how many bodies from one network are read at once: forms take up to half
    of the threads, because a whole office may share a network; files take up to a quarter."""

    def __init__(
        self, threads: int, form_seconds: float = FORM_SECONDS, files_seconds: float = FILES_SECONDS
    ) -> None:
        self._most = {False: max(1, threads // 2), True: max(1, threads // 4)}
        self._seconds = {False: form_seconds, True: files_seconds}
        self._reading: Counter[tuple[object, bool]] = Counter()
        self._lock = threading.Lock()

    def read(self, asked: Request) -> bool:
        """Reads and parses the whole body of a request. Returns True; False, without reading, if too many bodies of its
        network are being read.

        Raises BadRequest for a body that did not arrive in time, and RequestEntityTooLarge for one that is too large.
        """
        has_files = is_large(asked)
        place = _network(asked.remote_addr), has_files
        with self._lock:
            if self._reading[place] >= self._most[has_files]:
                return False
            self._reading[place] += 1
        late = threading.Timer(self._seconds[has_files], _cut, [asked.environ.get("gunicorn.socket")])
        late.start()
        try:
            asked.form  # noqa: B018 - parses the body, with its files
        finally:
            late.cancel()
            with self._lock:
                self._reading[place] -= 1
                if not self._reading[place]:
                    del self._reading[place]
        return True


def is_large(asked: Request) -> bool:
    """Whether the body of a request is longer than `LARGE_BYTES`, or its length is not known. Forms without files are
    shorter.
    """
    return asked.content_length is None or asked.content_length > LARGE_BYTES


def _network(address: str | None) -> object:
    """Returns a value that is equal for all addresses of a network: the IPv4 address itself, or the first 64 bits of an
    IPv6 address. A provider gives such a network to one customer.
    """
    try:
        found = ip_address(address or "")
    except ValueError:
        return address
    return found if found.version == 4 else int(found) >> 64


def _cut(client: socket.socket | None) -> None:
    """Closes a client's connection for reading only. A thread that waits for the request's body then sees the end of
    the body, and the client can still get an answer.
    """
    if client is not None:
        try:
            client.shutdown(socket.SHUT_RD)
        except OSError:
            return  # the client has closed the connection
