"""`AsyncPosthaste`: the API for asyncio, with the methods of `Posthaste` as coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import httpx2

from posthaste import records, uploads
from posthaste.exchange import TIMEOUT_SECONDS, Call, Flow, Send, Wait, exchange, settings_of
from posthaste.operations import AsyncOperations
from posthaste.pages import next_page
from posthaste.retries import Answer, Failure, RetryPolicy
from posthaste.transport import async_body_of, failure_of, headers_of, timeout_of

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")


class AsyncPosthaste(AsyncOperations):
    """A client of the Posthaste API for asyncio, with one token, for one event loop. Use it in an `async with`
    statement, or close it.
    """

    def __init__(
        self,
        token: str | None = None,
        *,
        base_url: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        retries: RetryPolicy | None = None,
        http: httpx2.AsyncClient | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Takes the arguments of `Posthaste`. Raises PosthasteError if `base_url` is missing or is not an http(s)
        address.
        """
        self._settings = settings_of(token, base_url, timeout_seconds, retries)
        self._owns_http = http is None
        self._http = http or httpx2.AsyncClient(follow_redirects=False)
        self._sleep = sleep

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections, unless they belong to an `http` client of your own."""
        if self._owns_http:
            await self._http.aclose()

    async def upload(
        self,
        file: uploads.File,
        *,
        filename: str | None = None,
        mime_type: str | None = None,
        in_parts: bool | None = None,
        on_progress: uploads.Progress | None = None,
    ) -> records.UploadedMedia:
        """Upload a file, as `Posthaste.upload` does. The file is read synchronously: the event loop waits while a block
        is read.
        """
        with uploads.opened(file, filename, mime_type) as source:
            return await self._drive(
                uploads.upload(source, self._settings, in_parts=in_parts, on_progress=on_progress)
            )

    async def _call(self, call: Call[T]) -> T:
        return await self._drive(exchange(call, self._settings))

    async def _iterate(self, call: Call[Any], field: str) -> AsyncIterator[Any]:
        query: dict[str, Any] | None = dict(call.query)
        while query is not None:
            page = await self._call(replace(call, query=query))
            for one in getattr(page, field):
                yield one
            query = next_page(query, page)

    async def _drive(self, flow: Flow[T]) -> T:
        outcome: Answer | Failure | None = None
        while True:
            try:
                step = flow.send(outcome)
            except StopIteration as done:
                result: T = done.value
                return result
            if isinstance(step, Wait):
                await self._sleep(step.seconds)
                outcome = None
            else:
                outcome = await self._send(step)

    async def _send(self, request: Send) -> Answer | Failure:
        seconds = self._settings.timeout_seconds
        try:
            return await asyncio.wait_for(self._request(request, seconds), seconds + 1.0)
        except (httpx2.TransportError, asyncio.TimeoutError) as error:
            return failure_of(error, seconds)

    async def _request(self, request: Send, seconds: float) -> Answer:
        response = await self._http.request(
            request.method,
            request.url,
            headers=headers_of(request),
            content=async_body_of(request),
            timeout=timeout_of(seconds),
        )
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status_code, headers, response.content)
