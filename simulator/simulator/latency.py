"""Realistic latencies of the social platforms, for tests with slow platforms (`SIMULATOR_SLOW`).

A call gets its latency whether it succeeds or fails. Latencies are drawn from a random generator with a seed: the same
calls in the same order get the same latencies.
"""

import threading
from random import Random

#: Seconds, the shortest and the longest. Our choice: a text 0.4 to 3, a photo 1 to 8, the processing of a film 20 to
#: 180.
_TEXT = {
    "FB": (0.6, 2.5), "IG": (0.8, 3.0), "LN": (0.5, 2.0), "TT": (0.6, 2.5), "TW": (0.4, 1.5), "YT": (0.6, 3.0),
}  # fmt: skip
_PHOTO = {
    "FB": (1.5, 8.0), "IG": (2.0, 8.0), "LN": (1.0, 5.0), "TT": (1.0, 6.0), "TW": (1.0, 4.0), "YT": (1.0, 8.0),
}  # fmt: skip
_FILM = {
    "FB": (20.0, 120.0), "IG": (20.0, 180.0), "LN": (20.0, 90.0),
    "TT": (30.0, 180.0), "TW": (20.0, 90.0), "YT": (20.0, 150.0),
}  # fmt: skip
#: Shortest and longest latency of a read. Our choice.
_LOOK = (0.1, 0.6)
#: One write in a hundred takes this long, just below a caller's timeout of 30 s. Our choice.
_STALL_SECONDS, _STALLS = 25.0, 0.01
#: A write with a body larger than this contains a file.
_FILE_BYTES = 16 * 1024


def call_seconds(platform: str, operation: str, body_bytes: int, random: Random) -> float:
    """Draws the latency of a call, in seconds; 0 for an AI provider and for Stripe."""
    if platform not in _TEXT:
        return 0.0
    if operation not in ("publish", "upload", "comment", "reply"):
        return _between(*_LOOK, random)
    if random.random() < _STALLS:
        return _STALL_SECONDS
    has_file = operation == "upload" or body_bytes > _FILE_BYTES
    return _between(*(_PHOTO if has_file else _TEXT)[platform], random)


def film_seconds(platform: str, random: Random) -> float:
    """Draws how long a platform processes a film, in seconds."""
    return _between(*_FILM[platform], random)


def _between(quickest: float, slowest: float, random: Random) -> float:
    """Draws from a log-uniform distribution: short times are more frequent than long ones."""
    return float(quickest * (slowest / quickest) ** random.random())


class Latencies:
    """Draws the latencies of one simulator. With an empty seed there are none. Thread-safe."""

    def __init__(self, seed: str = "") -> None:
        self._lock = threading.Lock()
        self.begin(seed)

    def begin(self, seed: str) -> None:
        """Starts to draw latencies with this seed; an empty seed turns latencies off."""
        with self._lock:
            self.seed = seed
            self._random = Random(seed)

    def of_call(self, platform: str, operation: str, body_bytes: int) -> float:
        with self._lock:
            return call_seconds(platform, operation, body_bytes, self._random) if self.seed else 0.0

    def of_film(self, platform: str) -> float | None:
        """Draws how long a platform processes a film, in seconds. None: latencies are off."""
        with self._lock:
            return film_seconds(platform, self._random) if self.seed else None
