"""A file cut into the pieces that resumable uploads want, while it streams by: none of them is in memory as a whole."""

from collections.abc import Iterator

from publishing.platforms.base import PlatformRefusal, Refusal


class Pieces:
    """A file that is read once, from its beginning."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def skip(self, count_bytes: int) -> None:
        """Pass over what the platform has already. Raises PlatformRefusal."""
        for _ in self.take(count_bytes):
            pass

    def take(self, count_bytes: int) -> Iterator[memoryview]:
        """The next so many bytes, as they come. Raises PlatformRefusal when the file ends before."""
        while count_bytes > 0:
            if not self._rest:
                self._rest = memoryview(next(self._chunks, b""))
                if not self._rest:
                    message = "The file is not as long as it was said to be."
                    raise PlatformRefusal(Refusal.TRANSIENT, "MEDIA_CHANGED", message)
            part, self._rest = self._rest[:count_bytes], self._rest[count_bytes:]
            count_bytes -= len(part)
            yield part


class Piece:
    """The next piece of a file as the body of one call (`wire.SizedBody`)."""

    def __init__(self, pieces: Pieces, length_bytes: int, content_type: str) -> None:
        self._pieces = pieces
        self.length_bytes = length_bytes
        self.content_type = content_type
        #: Whether the last byte has left: before that the platform cannot have taken it.
        self.is_sent = False

    def __iter__(self) -> Iterator[memoryview]:
        yield from self._pieces.take(self.length_bytes)
        self.is_sent = True
