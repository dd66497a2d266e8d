"""`Posthaste`: the API for synchronous code. It has a method for each operation, from `posthaste.operations`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import httpx2

from posthaste import records, uploads
from posthaste.exchange import TIMEOUT_SECONDS, Call, Flow, Send, Wait, exchange, settings_of
from posthaste.operations import Operations
from posthaste.pages import next_page
from posthaste.retries import Answer, Failure, RetryPolicy
from posthaste.transport import OverDeadline, body_of, failure_of, headers_of, timeout_of

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")


class Posthaste(Operations):
    """A client of the Posthaste API, with one token. Threads may share it. Use it in a `with` statement, or close it.

    with Posthaste("svc_live_…", base_url="https://posthaste.example.com") as client:
        client.publish_post(page_id="pag_…", message="Hello")
    """

    def __init__(
        self,
        token: str | None = None,
        *,
        base_url: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        retries: RetryPolicy | None = None,
        http: httpx2.Client | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Creates a client. `token` and `base_url` default to the environment variables POSTHASTE_TOKEN and
        POSTHASTE_URL. `timeout_seconds` limits each try.

        `http`: a client of your own, for example with a proxy; `close` does not close it. Raises PosthasteError if
        `base_url` is missing or is not an http(s) address.
        """
        self._settings = settings_of(token, base_url, timeout_seconds, retries)
        self._owns_http = http is None
        self._http = http or httpx2.Client(follow_redirects=False)
        self._sleep = sleep

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections, unless they belong to an `http` client of your own."""
        if self._owns_http:
            self._http.close()

    def upload(
        self,
        file: uploads.File,
        *,
        filename: str | None = None,
        mime_type: str | None = None,
        in_parts: bool | None = None,
        on_progress: uploads.Progress | None = None,
    ) -> records.UploadedMedia:
        """Upload a file: a path, bytes or an open file. A file of more than 8 MiB is sent in parts, unless `in_parts`
        says otherwise.

        `on_progress` is called with the number of bytes sent so far and the size of the file.
        """
        with uploads.opened(file, filename, mime_type) as source:
            return self._drive(
                uploads.upload(source, self._settings, in_parts=in_parts, on_progress=on_progress)
            )

    def _call(self, call: Call[T]) -> T:
        return self._drive(exchange(call, self._settings))

    def _iterate(self, call: Call[Any], field: str) -> Iterator[Any]:
        query: dict[str, Any] | None = dict(call.query)
        while query is not None:
            page = self._call(replace(call, query=query))
            yield from getattr(page, field)
            query = next_page(query, page)

    def _drive(self, flow: Flow[T]) -> T:
        outcome: Answer | Failure | None = None
        while True:
            try:
                step = flow.send(outcome)
            except StopIteration as done:
                result: T = done.value
                return result
            if isinstance(step, Wait):
                self._sleep(step.seconds)
                outcome = None
            else:
                outcome = self._send(step)

    def _send(self, request: Send) -> Answer | Failure:
        seconds = self._settings.timeout_seconds
        end = time.monotonic() + seconds
        content = body_of(request)
        try:
            with self._http.stream(
                request.method,
                request.url,
                headers=headers_of(request),
                content=content,
                timeout=timeout_of(seconds),
            ) as response:
                blocks = []
                for block in response.iter_bytes():
                    blocks.append(block)
                    if time.monotonic() > end:  # a server that trickles its answer
                        raise OverDeadline
                headers = {name.lower(): value for name, value in response.headers.items()}
                return Answer(response.status_code, headers, b"".join(blocks))
        except (httpx2.TransportError, OverDeadline) as error:
            return failure_of(error, seconds)
