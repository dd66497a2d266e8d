"""Makes the wall clock of a stack's process wrong. Python loads this module when it starts, if the folder is on
PYTHONPATH.

FAULTS_SKEW names a file with a double of eight bytes: by how many seconds the wall clock of this process is ahead. It
may change at any moment. Monotonic time and the clocks of other processes stay right.
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
