"""TCP proxies ("links") between the processes of a stack and its servers. Each can be cut or frozen by its name.

The links run in a separate process, so that a busy test does not slow the stack down.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

from testkit.faulty_link import FaultyLink


class Links:
    """Controls the process with the links. Thread-safe. Close it at the end."""

    def __init__(self) -> None:
        self.ports: dict[str, int] = {}
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def add(self, targets: Mapping[str, tuple[str, int] | str]) -> dict[str, int]:
        """Adds links: name → host and port, or path of a Unix socket. Returns name → local port of the link."""
        self.ports |= self._ask(
            "add", {name: target for name, target in targets.items() if name not in self.ports}
        )
        return self.ports

    def cut(self, *names: str) -> None:
        """Closes the open connections of these links. New connections work."""
        self._ask("cut", names)

    def freeze(self, *names: str) -> None:
        """Freezes open and new connections of these links: they stay open, but no byte passes."""
        self._ask("freeze", names)

    def thaw(self, *names: str) -> None:
        """Ends the freeze of these links, or of all."""
        self._ask("thaw", names or tuple(self.ports))

    def close(self) -> None:
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.terminate()

    def _ask(self, what: str, about: Any) -> Any:
        with self._lock:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps([what, about]) + "\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())


def serve() -> None:
    links: dict[str, FaultyLink] = {}
    for line in sys.stdin:
        what, about = json.loads(line)
        if what == "add":
            made = {
                name: FaultyLink(target if isinstance(target, str) else tuple(target))
                for name, target in about.items()
            }
            links |= made
            answer = {name: link.port for name, link in made.items()}
        else:
            for name in about:
                getattr(links[name], what)()
            answer = {}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve()
