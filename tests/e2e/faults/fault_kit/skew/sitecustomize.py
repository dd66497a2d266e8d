"""Makes the wall clock of one stack's processes wrong. Python loads it at its start where this folder is on
PYTHONPATH.

FAULTS_SKEW names a file of eight bytes, a double: by how many seconds this process's wall clock is ahead. The number
may change at any moment. Monotonic time stays right, and so do the clocks of other processes.
"""

import ctypes
import datetime
import gc
import mmap
import os
import struct
import time


def _install(path: str) -> None:
    with open(path, "rb") as file:
        shared = mmap.mmap(file.fileno(), 8, access=mmap.ACCESS_READ)
    read, clock, clock_ns, now = (
        struct.Struct("d").unpack_from,
        time.time,
        time.time_ns,
        datetime.datetime.now,
    )

    def ahead() -> float:
        return read(shared)[0]

    class Shifted(datetime.datetime):
        @classmethod
        def now(cls, tz=None):  # type: ignore[no-untyped-def]
            return now(tz) + datetime.timedelta(seconds=ahead())

        @classmethod
        def utcnow(cls):  # type: ignore[no-untyped-def]
            return now(datetime.UTC).replace(tzinfo=None) + datetime.timedelta(seconds=ahead())

    time.time = lambda: clock() + ahead()
    time.time_ns = lambda: clock_ns() + int(ahead() * 1e9)
    # The type itself has to stay what it is: records and drivers ask for it by name. Its methods are changed in place.
    methods = gc.get_referents(datetime.datetime.__dict__)[0]
    methods["now"], methods["utcnow"] = vars(Shifted)["now"], vars(Shifted)["utcnow"]
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime.datetime))


if "FAULTS_SKEW" in os.environ:
    _install(os.environ["FAULTS_SKEW"])
