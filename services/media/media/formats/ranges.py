"""A file that lies elsewhere, read by ranges, a few blocks of it remembered. No whole file is ever held."""

from collections import OrderedDict
from collections.abc import Callable

from media.formats import Refused

#: Headers are small and lie together. Our choice.
_BLOCK_BYTES, _BLOCKS = 64 * 1024, 16


class Ranges:
    """`fetch(offset, length)` brings a range."""

    def __init__(self, fetch: Callable[[int, int], bytes], size: int) -> None:
        self._fetch, self.size = fetch, size
        self._blocks: OrderedDict[int, bytes] = OrderedDict()

    def read(self, offset: int, length: int) -> bytes:
        """Exactly that range. Raises Refused when the file ends before."""
        if offset < 0 or offset + length > self.size:
            raise Refused("The file is cut off.")
        first, last = offset // _BLOCK_BYTES, (offset + max(length, 1) - 1) // _BLOCK_BYTES
        whole = b"".join(self._block(number) for number in range(first, last + 1))
        return whole[offset - first * _BLOCK_BYTES :][:length]

    def tail(self, length: int) -> bytes:
        """Its last bytes, or all of it."""
        length = min(length, self.size)
        return self.read(self.size - length, length)

    def _block(self, number: int) -> bytes:
        if number in self._blocks:
            self._blocks.move_to_end(number)
        else:
            self._blocks[number] = self._fetch(
                number * _BLOCK_BYTES, min(_BLOCK_BYTES, self.size - number * _BLOCK_BYTES)
            )
            if len(self._blocks) > _BLOCKS:
                self._blocks.popitem(last=False)
        return self._blocks[number]
