"""Builds the images of all stacks, one stack after another, while tests run. The tests wait most of the time."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from container_kit import tell
from deploy_kit import unpack_parent

from local.containers.compose import Composed
from local.containers.engine import Engine

#: The parent release, and the tag of its images. The present ones have the tag of their version.
PARENT = "parent"


class Builds:
    """Stacks whose images are being built or are built."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._futures: dict[str, Future[Composed]] = {}

    def begin(self, name: str, make: Callable[[], Composed]) -> None:
        if name not in self._futures:
            self._futures[name] = self._pool.submit(self._build, make)

    def _build(self, make: Callable[[], Composed]) -> Composed:
        stack = make()
        stack.build()
        return stack

    def wait(self, name: str) -> Composed:
        """Waits until the stack's images are built, and returns the stack."""
        stack = self._futures[name].result()
        tell(f"the images for {name} are built")
        return stack

    def wait_all(self) -> None:
        """Waits until no build runs any more, whatever their results."""
        wait(self._futures.values())

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


def parent_release(engine: Engine) -> Composed:
    """Returns a stack of the parent release, in its own checkout."""
    checkout = engine.folder / "checkout"
    checkout.mkdir()
    unpack_parent(checkout)
    stack = Composed(engine, engine.folder / PARENT, "core", checkout)
    stack.set({"POSTHASTE_VERSION": PARENT})
    return stack
