"""Records what the AI providers have made, for GET /_sim/ai. Tests compare it with the charges one by one."""

import threading
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Work:
    """A picture, film or caption that was made, whether or not its answer arrived."""

    #: gemini or openai.
    provider: str
    #: image, edit (a picture was given), video or caption.
    operation: str
    model: str
    prompt: str
    #: The system prompt.
    instructions: str
    #: Pictures that came with the prompt.
    references: int
    #: Size of the result.
    bytes: int
    created_at: datetime


class Works:
    """All works in the order in which they were made. A reset clears them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._works: list[Work] = []

    def add(self, work: Work) -> None:
        with self._lock:
            self._works.append(work)

    def clear(self) -> None:
        """Forgets all works."""
        with self._lock:
            self._works.clear()

    def rows(self) -> list[Work]:
        """Returns all works."""
        with self._lock:
            return list(self._works)

    def counts(self) -> dict[str, dict[str, int]]:
        """Returns the number of works by provider and operation, without zeros."""
        counted: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        for work in self.rows():
            counted[work.provider][work.operation] += 1
        return {provider: dict(operations) for provider, operations in counted.items()}
