"""What the processes of `MeasuredPool` run: the decoder of the media service.

The fork server imports this module. From then on it reports the CPU and the memory of each process that ends, crashed
and killed ones included, into the named pipe of the benchmark, which is its parent.
"""

import os
import signal
import sys
from contextlib import suppress

import msgspec

from bench.media_files.measured_pool import Used, pipe_of
from media.decoder.functions import blank_notes, inspect_image, make_picture

__all__ = ["blank_notes", "inspect_image", "make_picture"]


def _report_ended_processes(pipe: int) -> None:
    def report(_number: int, _frame: object) -> None:
        with suppress(ChildProcessError):
            while (ended := os.wait4(-1, os.WNOHANG))[0]:
                usage = ended[2]
                used = Used(cpu_seconds=usage.ru_utime + usage.ru_stime, memory_bytes=usage.ru_maxrss * 1024)
                os.write(pipe, msgspec.json.encode(used) + b"\n")

    signal.signal(signal.SIGCHLD, report)


if getattr(sys.modules["__main__"].__spec__, "name", "") == "chassis.sandbox.pool":  # this is the fork server
    _report_ended_processes(os.open(pipe_of(os.getppid()), os.O_WRONLY))
