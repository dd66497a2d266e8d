"""Writing over ranges of a stream of bytes that passes by. Pure."""

from collections.abc import Iterable, Iterator

from media.formats import Patch


def patched(pieces: Iterable[bytes], patches: Iterable[Patch]) -> Iterator[bytes]:
    """The same bytes, the patches written over them; as long as before."""
    waiting = sorted(patches, key=lambda patch: patch.offset)
    at = 0
    for piece in pieces:
        end, changed = at + len(piece), None
        for patch in waiting:
            if patch.offset >= end:
                break
            start, stop = max(patch.offset, at), min(patch.offset + patch.length, end)
            if start >= stop:
                continue
            changed = changed if changed is not None else bytearray(piece)
            written = patch.head[start - patch.offset : stop - patch.offset]
            changed[start - at : stop - at] = written + bytes(stop - start - len(written))
        while waiting and waiting[0].offset + waiting[0].length <= end:
            waiting.pop(0)
        at = end
        yield piece if changed is None else bytes(changed)
