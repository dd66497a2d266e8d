"""Cuts a streamed file into the pieces of a resumable upload, without holding a whole piece in memory."""

from collections.abc import Iterator

from publishing.platforms.base import PlatformRefusal, Refusal


class Pieces:
    """A file that is read once from its beginning, piece after piece."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def skip(self, count_bytes: int) -> None:
        """Skips the bytes that the platform already has. Raises PlatformRefusal if the file has fewer."""
        for _ in self.take(count_bytes):
            pass

    def take(self, count_bytes: int) -> Iterator[memoryview]:
        """Yields the next `count_bytes` bytes in blocks. Raises PlatformRefusal if the file has fewer."""
        while count_bytes > 0:
            if not self._rest:
                self._rest = memoryview(next(self._chunks, b""))
                if not self._rest:
                    raise media_changed()
            part, self._rest = self._rest[:count_bytes], self._rest[count_bytes:]
            count_bytes -= len(part)
            yield part


class Piece:
    """The next piece of a file as the body of one call (`http_client.SizedBody`)."""

    def __init__(self, pieces: Pieces, length_bytes: int, content_type: str) -> None:
        self._pieces = pieces
        self.length_bytes = length_bytes
        self.content_type = content_type
        self.is_sent = False

    def __iter__(self) -> Iterator[memoryview]:
        yield from self._pieces.take(self.length_bytes)
        self.is_sent = True


def media_changed() -> PlatformRefusal:
    """Returns the refusal for a file whose length is not the announced one."""
    return PlatformRefusal(Refusal.TRANSIENT, "MEDIA_CHANGED", "The file's length is not the one announced.")
