"""Public files: GET and HEAD of /media/{key}/{filename}, streamed from storage without being held.

Whoever has the address may fetch. What is served is a stranger's: nothing in it is to run in our name.
"""

import socket
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from werkzeug.http import dump_options_header, http_date, unquote_etag

from contracts.media import LocatedFile, LocateFile
from gateway.exchange import Exchange
from gateway.http.answers import Answer
from gateway.http.client_address import customer_of
from gateway.http.ranges import Unsatisfiable, is_known, span_of
from gateway.http.slow_clients import Arrivals
from gateway.transfers.storage import Download

#: How long a file that was deleted may still be found. Our choice.
_KNOWN_SECONDS = 60.0
#: Entries; past it the memory starts anew. Our choice.
_MOST_KNOWN = 10_000
#: How long a download waits for a place. Our choice.
DOWNLOAD_WAIT_SECONDS = 2.0
_HEADERS = {
    "Accept-Ranges": "bytes",
    "Cache-Control": "public, max-age=300",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
}

#: Clients whose readiness for the next block is waited for.
RECEIVING = Arrivals(side=socket.SHUT_RDWR)


class FileLocations:
    """Where the files asked for of late lie. Thread safe: single dictionary operations."""

    def __init__(
        self, locate: Callable[[LocateFile], LocatedFile], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._locate = locate
        self._monotonic = monotonic
        self._known: dict[tuple[str, str], tuple[float, LocatedFile]] = {}

    def find(self, request: LocateFile) -> LocatedFile:
        """Raises ApiError NOT_FOUND, SERVICE_UNAVAILABLE; neither is remembered."""
        name = (request.key, request.filename)
        until, file = self._known.get(name, (0.0, None))
        if file is None or until <= self._monotonic():
            file = self._locate(request)
            if len(self._known) >= _MOST_KNOWN:
                self._known = {}
            self._known[name] = (self._monotonic() + _KNOWN_SECONDS, file)
        return file


class Outgoing:
    """The bytes of an answer on their way; `close` gives the place back."""

    def __init__(self, download: Download, client: Any, leave: Callable[[], None]) -> None:
        self._download = download
        self._client = client
        self._leave = leave

    def __iter__(self) -> Iterator[bytes]:
        for block in self._download:
            if self._client is not None:
                RECEIVING.begins(self._client)
            yield block
            RECEIVING.arrived(self._client)
            time.sleep(0)  # a fast line never waits: the other green threads get their turn here

    def close(self) -> None:
        RECEIVING.arrived(self._client)
        self._download.close()
        self._leave()


def serve(exchange: Exchange, request: LocateFile) -> Answer:
    """200, 206, 304 or 416. Raises ApiError NOT_FOUND, SERVICE_UNAVAILABLE."""
    environ = exchange.environ
    file = exchange.services.locations.find(request)
    headers = {
        **_HEADERS,
        "Content-Disposition": dump_options_header("inline", {"filename": request.filename}),
        "ETag": file.etag,
        "Last-Modified": http_date(file.created_at),
    }
    etag, _ = unquote_etag(file.etag)
    if is_known(environ, etag, file.created_at):
        return Answer(304, b"", headers, file.mime_type)
    try:
        span = span_of(environ, etag, file.created_at, file.size_bytes)
    except Unsatisfiable:
        headers |= {"Content-Range": f"bytes */{file.size_bytes}"}
        return Answer(416, b"", headers, file.mime_type)
    if span is not None:
        headers["Content-Range"] = f"bytes {span[0]}-{span[1]}/{file.size_bytes}"
    first, last = span or (0, file.size_bytes - 1)
    headers["Content-Length"] = str(last - first + 1)
    body = () if environ["REQUEST_METHOD"] == "HEAD" else _open(exchange, file, first, last)
    return Answer(206 if span else 200, body, headers, file.mime_type)


def _open(exchange: Exchange, file: LocatedFile, first: int, last: int) -> Outgoing:
    places, who = exchange.services.download_slots, customer_of(exchange.client_address)
    places.enter(who)
    try:
        download = exchange.services.storage.get(file.source_url, first, last)
    except BaseException:
        places.leave(who)
        raise
    return Outgoing(download, exchange.environ.get("gunicorn.socket"), partial(places.leave, who))
