"""Fetches media by URL, as the platforms do. inspection.py examines the fetched bytes."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urljoin, urlsplit, urlunsplit

import requests

from simulator.config import Settings

T = TypeVar("T")

_CHUNK_BYTES = 1 << 16
_MAX_REDIRECTS = 3


class FetchFailed(Exception):
    """Raised when a URL could not be fetched; the message says why."""


class FetchTooBig(Exception):
    """Raised when a file has more bytes than the platform accepts."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """The content of a fetched URL, and its media type."""

    data: bytes
    content_type: str


class Fetcher:
    """Fetches media URLs. A host in `Settings.host_map` is reached at the address given there, over plain HTTP."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.headers["User-Agent"] = "facebookexternalhit/1.1"
        self._session.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=64))
        self._later = ThreadPoolExecutor(max_workers=8, thread_name_prefix="fetch")

    def get(self, url: str, limit_bytes: int, follow_redirects: bool) -> Fetched:
        """Fetches a URL. Raises FetchTooBig for more than `limit_bytes`, and FetchFailed for any other problem, also
        for a web page.
        """
        until = time.monotonic() + self._settings.fetch_seconds
        try:
            for _ in range(_MAX_REDIRECTS + 1):
                with self._open(url) as response:
                    if response.is_redirect and follow_redirects:
                        url = urljoin(url, response.headers["Location"])
                        continue
                    return self._read(response, limit_bytes, until)
        except (requests.RequestException, ValueError) as problem:
            raise FetchFailed(str(problem)) from problem
        raise FetchFailed("too many redirects")

    def later(self, work: Callable[[], T]) -> "Future[T]":
        """Starts `work` in a background thread and returns the future of its result."""
        return self._later.submit(work)

    def _open(self, url: str) -> requests.Response:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise FetchFailed("not an http(s) URL")
        headers = {}
        target = self._settings.host_map.get(parts.hostname)
        if target is not None:
            headers["Host"] = parts.netloc
            url = urlunsplit(("http", target, parts.path, parts.query, ""))
        timeout = self._settings.fetch_seconds
        return self._session.get(url, headers=headers, timeout=timeout, stream=True, allow_redirects=False)

    def _read(self, response: requests.Response, limit_bytes: int, until: float) -> Fetched:
        if response.status_code != 200:
            raise FetchFailed(f"HTTP {response.status_code}")
        if int(response.headers.get("Content-Length", 0)) > limit_bytes:
            raise FetchTooBig
        data = bytearray()
        for chunk in response.iter_content(_CHUNK_BYTES):
            data += chunk
            if len(data) > limit_bytes:
                raise FetchTooBig
            if time.monotonic() > until:
                raise FetchFailed("took too long")
        content_type = response.headers.get("Content-Type", "").split(";")[0].strip().lower()
        if content_type == "text/html":
            raise FetchFailed("a web page instead of a file")
        return Fetched(bytes(data), content_type)
