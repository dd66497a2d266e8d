"""Overwrites ranges of a stream of bytes. Pure."""

from collections import deque
from collections.abc import Iterable, Iterator

from media.decoder.formats import Patch


def patched(pieces: Iterable[bytes], patches: Iterable[Patch]) -> Iterator[bytes]:
    """Yields the bytes with the patches applied, at the same total length. Where two patches overlap the first one
    counts.
    """
    waiting, at = deque(_apart(patches)), 0
    for piece in pieces:
        end, changed = at + len(piece), None
        while waiting and waiting[0].offset < end:
            patch = waiting[0]
            start, stop = max(patch.offset, at), min(patch.offset + patch.length, end)
            if changed is None:
                changed = bytearray(piece)
            written = patch.head[start - patch.offset : stop - patch.offset]
            changed[start - at : stop - at] = written + bytes(stop - start - len(written))
            if patch.offset + patch.length > end:
                break
            waiting.popleft()
        at = end
        yield piece if changed is None else bytes(changed)


def _apart(patches: Iterable[Patch]) -> Iterator[Patch]:
    """Yields the patches in order, without overlaps."""
    at = 0
    for patch in sorted(patches, key=lambda patch: patch.offset):
        hidden = max(at - patch.offset, 0)
        if patch.length > hidden:
            yield Patch(patch.offset + hidden, patch.length - hidden, patch.head[hidden:])
            at = patch.offset + patch.length
