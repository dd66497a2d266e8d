"""Chooses the ports that the processes of a run directory use. Each process gets its usual port if that is free,
otherwise another. After a restart it gets the same port again.
"""

import json
import random
import socket
from collections.abc import Mapping
from pathlib import Path

#: Below the ports that Linux uses for outgoing connections (from 32768).
OTHERS = range(20_000, 30_000)


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # a port of a connection just closed is free
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def any_free() -> int:
    """Returns a port that is free now."""
    return next(it for it in random.sample(OTHERS, 100) if is_free(it))


def choose(run: Path, usual: Mapping[str, int | None]) -> dict[str, int]:
    """Returns name → port, and stores the ports, so that the next start uses the same. Call it while no process of this
    run directory runs.

    `usual`: name → the port to use if it is free; None means any free port.
    """
    path = run / "ports.json"
    chosen: dict[str, int] = json.loads(path.read_text()) if path.exists() else {}
    for name, port in usual.items():
        taken = {other for key, other in chosen.items() if key != name}
        candidates = [chosen.get(name), port, *random.sample(OTHERS, 100)]
        chosen[name] = next(it for it in candidates if it and it not in taken and is_free(it))
    path.write_text(json.dumps(chosen, indent=1))
    return chosen
