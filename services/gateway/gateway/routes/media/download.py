"""GET and HEAD of /media/{key}/{filename}: public files, streamed from storage without being held in memory.

Anybody who has the address may fetch the file. Its content comes from users, so headers keep browsers from running it
as a part of our site.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from werkzeug.http import dump_options_header, http_date, unquote_etag

from contracts.media import LocatedFile, LocateFile
from gateway.exchange import Exchange
from gateway.http.answers import Answer
from gateway.http.body import RECEIVING
from gateway.http.client_address import customer_of
from gateway.http.ranges import Unsatisfiable, is_known, span_of
from gateway.transfers.storage import Download

_HEADERS = {
    "Accept-Ranges": "bytes",
    "Cache-Control": "public, max-age=300",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
}


class Outgoing:
    """The body of a file while it is sent. `close` frees its slot; slots limit concurrent downloads."""

    def __init__(self, download: Download, client: Any, release: Callable[[], None]) -> None:
        self._download = download
        self._client = client
        self._release = release

    def __iter__(self) -> Iterator[bytes]:
        for block in self._download:
            if self._client is not None:
                RECEIVING.watch(self._client)
            yield block
            RECEIVING.forget(self._client)
            time.sleep(0)  # a fast connection never blocks: this gives the other green threads their turn

    def close(self) -> None:
        RECEIVING.forget(self._client)
        self._download.close()
        self._release()


def serve(exchange: Exchange, request: LocateFile) -> Answer:
    """Answers a request for a public file: 200 with the whole file, 206 with the requested part, 304 if the client has
    it already, 416 if the requested part begins after its end.

    Raises NOT_FOUND if there is no such file. Raises SERVICE_UNAVAILABLE if the media service or the storage does not
    answer, or if too many downloads run.
    """
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
    slots, customer = exchange.services.download_slots, customer_of(exchange.client_address)
    slots.take(customer)
    try:
        download = exchange.services.storage.get(file.source_url, first, last)
    except BaseException:
        slots.release(customer)
        raise
    return Outgoing(download, exchange.environ.get("gunicorn.socket"), partial(slots.release, customer))
