"""Reads ranges of a remote file and caches a few blocks. No whole file is in memory."""

from collections import OrderedDict
from collections.abc import Callable

from media.decoder.formats import Refused

#: Headers are small and near each other; 4 MiB of them are cached. Our choice.
_BLOCK_BYTES, _BLOCKS = 64 * 1024, 64
#: Sequential reads fetch ever larger ranges, up to 2 MiB, because each fetch is a request to the storage. Our choice.
_MAX_AHEAD = 32


class RangeReader:
    """`fetch(offset, length)` returns a range."""

    def __init__(self, fetch: Callable[[int, int], bytes], size: int) -> None:
        self._fetch, self.size = fetch, size
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        #: The block after the last range, and how many blocks that range had.
        self._next, self._ahead = 0, 1

    def read(self, offset: int, length: int) -> bytes:
        """Returns exactly that range. Raises Refused when the file ends before."""
        if offset < 0 or offset + length > self.size:
            raise Refused("The file is incomplete.")
        first, last = offset // _BLOCK_BYTES, (offset + max(length, 1) - 1) // _BLOCK_BYTES
        whole = b"".join(self._block(number) for number in range(first, last + 1))
        return whole[offset - first * _BLOCK_BYTES :][:length]

    def tail(self, length: int) -> bytes:
        """Returns the last bytes, or the whole file."""
        length = min(length, self.size)
        return self.read(self.size - length, length)

    def _block(self, number: int) -> bytes:
        if number in self._blocks:
            self._blocks.move_to_end(number)
        else:
            self._bring(number)
        return self._blocks[number]

    def _bring(self, number: int) -> None:
        """Fetches the block, and further ones if the last blocks were read nearly in sequence."""
        in_a_row = 0 <= number - self._next <= self._ahead
        self._ahead = min(2 * self._ahead, _MAX_AHEAD) if in_a_row else 1
        self._next = number + self._ahead
        start = number * _BLOCK_BYTES
        brought = self._fetch(start, min(self._ahead * _BLOCK_BYTES, self.size - start))
        for index in range(0, len(brought), _BLOCK_BYTES):
            self._blocks[number + index // _BLOCK_BYTES] = brought[index : index + _BLOCK_BYTES]
        while len(self._blocks) > _BLOCKS:
            self._blocks.popitem(last=False)
