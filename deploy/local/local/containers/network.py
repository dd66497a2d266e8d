"""A network of its own for the tests with containers: processes in it reach the outside, nothing outside reaches them.

Containers publish ports on the network's own loopback, so they use no port of this machine. The only way out is
`slirp4netns`, which is needed for package indexes. Two processes form the network, and it ends with them.
"""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local.processes.table import NotReady, bound_to_parent

#: slirp4netns' own resolver, which asks this machine's.
DNS = "10.0.2.3"
READY_SECONDS = 20.0


@contextmanager
def network() -> Iterator[list[str]]:
    """Yields the beginning of a command line: a command that is put after it runs in a network of its own. The network
    ends with the block. Raises NotReady if it cannot be made.
    """
    holder = subprocess.Popen(bound_to_parent(["unshare", "--net", "--", "sleep", "infinity"], 9))
    way_out = None
    try:
        place = Path(f"/proc/{holder.pid}/ns/net")
        _wait(lambda: os.readlink(place) != os.readlink("/proc/self/ns/net"))
        enter = ["nsenter", f"--net={place}", "--"]
        subprocess.run([*enter, "ip", "link", "set", "lo", "up"], check=True)
        reader, writer = os.pipe()
        argv = [
            "slirp4netns",
            "--configure",
            "--mtu=65520",
            "--disable-host-loopback",
            f"--ready-fd={writer}",
        ]
        way_out = subprocess.Popen(
            bound_to_parent([*argv, str(holder.pid), "tap0"], 9),
            pass_fds=[writer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(writer)
        with open(reader, "rb") as ready:
            if ready.read(1) != b"1":
                raise NotReady("slirp4netns could not connect the network of the tests to this machine's")
        yield enter
    finally:
        for process in filter(None, (way_out, holder)):
            process.kill()
            process.wait()


def _wait(happened: "object") -> None:
    end = time.monotonic() + READY_SECONDS
    while not happened():  # type: ignore[operator]
        if time.monotonic() > end:
            raise NotReady("no network namespace could be made")
        time.sleep(0.01)
