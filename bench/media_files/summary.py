"""Tells what became of each file, and sums that up. Pure."""

from collections import Counter
from collections.abc import Sequence

from bench.media_files.trying import DAMAGED, Tried

_MB = 2**20
#: How many of the slowest and of the largest are named.
_NAMED = 3


def line(tried: Tried) -> str:
    """Returns one line about a file."""
    words = [
        tried.name,
        f"{tried.size_bytes:,} bytes",
        f"{tried.cpu_seconds:.2f} s CPU",
        f"{tried.memory_bytes / _MB:.0f} MB",
        tried.outcome if tried.shows is None else f"{tried.outcome}, {tried.shows}",
    ]
    if tried.private:
        words.append("still tells " + ", ".join(tried.private))
    return " | ".join(words)


def summary(all_tried: Sequence[Tried]) -> str:
    """Returns the summary of a run: taken and refused files, damaged and private ones, the slowest and the largest."""
    taken = [it for it in all_tried if it.is_taken]
    shown = Counter(it.shows for it in taken)
    looked = [it for it in taken if it.private is not None]
    lines = [
        f"{len(taken)} of {len(all_tried)} taken: " + ", ".join(f"{n} {it}" for it, n in shown.most_common())
    ]
    for outcome, count in Counter(it.outcome for it in all_tried if not it.is_taken).most_common():
        lines.append(f"refused {count}: {outcome}")
    lines += [f"damaged: {it.name}" for it in taken if it.shows == DAMAGED]
    lines += [f"private: {it.name}: {', '.join(it.private or ())}" for it in looked if it.private]
    lines.append(
        f"{len(looked)} of the taken ones searched by exiftool, {sum(map(_tells, looked))} with something"
    )
    slowest = sorted(all_tried, key=lambda it: it.cpu_seconds, reverse=True)[:_NAMED]
    largest = sorted(all_tried, key=lambda it: it.memory_bytes, reverse=True)[:_NAMED]
    lines.append("slowest: " + ", ".join(f"{it.name} {it.cpu_seconds:.2f} s" for it in slowest))
    lines.append(
        "largest memory: " + ", ".join(f"{it.name} {it.memory_bytes / _MB:.0f} MB" for it in largest)
    )
    return "\n".join(lines)


def _tells(tried: Tried) -> bool:
    return bool(tried.private)
