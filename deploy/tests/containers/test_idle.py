"""How much CPU the stack uses while nobody calls it, with its health checks."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from container_builds import Builds
from container_kit import tell

from local.containers.compose import Composed

MEASURED_SECONDS = 60.0
#: Of one core, a minute: the bar for all containers together, without the simulator, which no installation has.
MOST_SECONDS = 10.0


def test_the_idle_stack_takes_at_most_a_sixth_of_a_core(
    stack: Composed, is_core: bool, builds: Builds
) -> None:
    if is_core:
        pytest.skip("takes a minute")
    builds.wait_all()
    shown = stack.compose("ps", "--format", "{{.Service}} {{.ID}}").stdout.split()
    services, containers = shown[::2], shown[1::2]

    def used() -> list[float]:
        """Reads the CPU time of all containers at once, because reading one takes a second."""
        with ThreadPoolExecutor(len(containers)) as pool:
            return list(pool.map(stack.engine.cpu_seconds, containers))

    before, begun_at = used(), time.monotonic()
    time.sleep(MEASURED_SECONDS)
    after = used()
    minutes = (time.monotonic() - begun_at) / 60
    taken = {
        service: (end - begin) / minutes for service, begin, end in zip(services, before, after, strict=True)
    }
    for service, seconds in sorted(taken.items(), key=lambda it: -it[1]):
        tell(f"  {service} {seconds:.2f} s")
    assert sum(seconds for service, seconds in taken.items() if service != "simulator") <= MOST_SECONDS
