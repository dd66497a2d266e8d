"""How much CPU the stack takes while nobody asks it anything, health checks included."""

import time

import pytest
from container_kit import tell

from local.containers.compose import Composed

MEASURED_SECONDS = 60.0
#: Of one core, a minute: the bar for all containers together, without the simulator, which no installation has.
MOST_SECONDS = 10.0


def test_the_idle_stack_takes_at_most_a_sixth_of_a_core(stack: Composed, is_core: bool) -> None:
    if is_core:
        pytest.skip("takes a minute")
    names = stack.compose("ps", "--format", "{{.Service}} {{.ID}}").stdout.split()
    containers = dict(zip(names[::2], names[1::2], strict=True))
    before = {service: stack.engine.cpu_seconds(id_) for service, id_ in containers.items()}
    time.sleep(MEASURED_SECONDS)
    taken = {service: stack.engine.cpu_seconds(id_) - before[service] for service, id_ in containers.items()}
    for service, seconds in sorted(taken.items(), key=lambda it: -it[1]):
        tell(f"  {service} {seconds:.2f} s")
    assert sum(seconds for service, seconds in taken.items() if service != "simulator") <= MOST_SECONDS
