"""Records each picture, film and caption that the AI providers made, for GET /_sim/ai. Tests compare the records with
the credits that were charged.
"""

import threading
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Work:
    """A picture, film or caption that was made, even if the caller never got the answer."""

    #: gemini or openai.
    provider: str
    #: image, edit (an image from given pictures), video or caption.
    operation: str
    model: str
    prompt: str
    #: The system prompt.
    instructions: str
    #: Number of pictures in the request.
    references: int
    #: Size of the result; 0 for a film, whose size is not known yet.
    bytes: int
    created_at: datetime


class Works:
    """The records of all pictures, films and captions, in the order in which they were made."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._works: list[Work] = []

    def add(self, work: Work) -> None:
        with self._lock:
            self._works.append(work)

    def clear(self) -> None:
        """Deletes all works."""
        with self._lock:
            self._works.clear()

    def rows(self) -> list[Work]:
        """Returns all works, oldest first."""
        with self._lock:
            return list(self._works)

    def counts(self) -> dict[str, dict[str, int]]:
        """Returns {provider: {operation: number of works}}."""
        counted: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        for work in self.rows():
            counted[work.provider][work.operation] += 1
        return {provider: dict(operations) for provider, operations in counted.items()}
