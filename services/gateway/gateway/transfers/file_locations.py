"""Caches where recently requested public files are in storage, so that the media service is not asked for each
request."""

import time
from collections.abc import Callable

from contracts.media import LocatedFile, LocateFile

#: How long a location is kept, and so how long a deleted file may still be found: the media service is asked once a
#: minute for a popular file.
_KEPT_SECONDS = 60.0
#: A cache with this many entries is emptied, which bounds its memory to a few megabytes.
_MOST_FILES = 10_000


class FileLocations:
    """Remembers for a minute where the media service said that public files are. Thread-safe, because it uses single
    dictionary operations."""

    def __init__(
        self, locate: Callable[[LocateFile], LocatedFile], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._locate = locate
        self._monotonic = monotonic
        self._files: dict[tuple[str, str], tuple[float, LocatedFile]] = {}

    def find(self, request: LocateFile) -> LocatedFile:
        """Returns where a public file is in storage. Raises NOT_FOUND if there is no such file, and SERVICE_UNAVAILABLE
        if the media service does not answer. Errors are not cached."""
        name = (request.key, request.filename)
        until, file = self._files.get(name, (0.0, None))
        if file is None or until <= self._monotonic():
            file = self._locate(request)
            if len(self._files) >= _MOST_FILES:
                self._files = {}
            self._files[name] = (self._monotonic() + _KEPT_SECONDS, file)
        return file
