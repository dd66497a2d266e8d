"""Confines a process that reads untrusted bytes: it cannot see files, write, connect, or start or signal processes.

- **Landlock** refuses all files but Python's and the system's libraries; from ABI 4 on also TCP, from ABI 6 on also
  signals and abstract unix sockets. Without Landlock the process can read every file that its user can.
- **seccomp** refuses sockets, opening files for writing, starting processes, signals, ptrace, io_uring and every other
  call that a decoder does not need. Only programs, and functions that ask for that, may start threads. Without seccomp
  the process can open UDP and unix sockets and start processes.
- **A network namespace** hides all addresses of the host. It needs root or user namespaces, and most containers give
  neither.
- **No capabilities and no_new_privs** remove root's powers and setuid programs, on every kernel.

The sandbox is complete with Landlock (any ABI) and seccomp. A network namespace may be missing, as seccomp refuses
sockets.
"""

import ctypes
import glob
import os
import platform
import struct
import sys
from collections.abc import Sequence

from chassis.sandbox import landlock, seccomp
from contracts.record import Record

#: The dynamic linkers of glibc and musl, which start every program.
_LINKERS = ("/lib64/ld-linux-*", "/lib/ld-linux-*", "/lib/ld-musl-*")
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
#: Harmless devices that libraries open: ffmpeg ends at once without random numbers.
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
#: prctl's PR_SET_NO_NEW_PRIVS; capset's version 3; unshare's CLONE_NEWNET and CLONE_NEWUSER.
_NO_NEW_PRIVS, _CAPABILITIES_3, _NEW_NETWORK, _NEW_USER = 38, 0x20080522, 0x40000000, 0x10000000
_system = ctypes.CDLL(None, use_errno=True)


class Confinement(Record):
    """Which parts of the sandbox the kernel of this machine enforces."""

    #: 0: no Landlock.
    landlock_abi: int = 0
    seccomp: bool = False
    network_namespace: bool = False

    @property
    def missing(self) -> tuple[str, ...]:
        """Returns which of "landlock" and "seccomp" this machine's kernel does not enforce."""
        held = {"landlock": self.landlock_abi > 0, "seccomp": self.seccomp}
        return tuple(name for name, holds in held.items() if not holds)


class Sandbox:
    """The rules that confine a process, prepared once in the fork server; each forked process calls `enter`."""

    def __init__(self) -> None:
        """Prepares the rules, and enters an empty network namespace at once where the kernel allows that."""
        on_linux = sys.platform == "linux"
        landlock_abi, has_seccomp = landlock.abi() if on_linux else 0, seccomp.is_available()
        modules = (os.path.join(sys.base_prefix, "lib"), *sys.path)
        self._readable = [*_LIBRARIES, *_DEVICES, *(path for path in modules if os.path.isabs(path))]
        self._ruleset = landlock.make_ruleset(self._readable) if landlock_abi else None
        #: (has_threads, may_execute) → filter. A program may always start threads.
        self._filters = {
            it: seccomp.decoder_filter(platform.machine(), has_threads=it[0], may_execute=it[1])
            for it in ((False, False), (True, False), (True, True))
            if has_seccomp
        }
        self.confinement = Confinement(
            landlock_abi=landlock_abi,
            seccomp=has_seccomp,
            network_namespace=on_linux and _leave_network(),
        )

    def enter(self, keep: Sequence[int], program: str | None = None, *, has_threads: bool = False) -> None:
        """Confines this process permanently. Raises OSError when any part of the confinement fails.

        `keep`: the descriptors that stay open, besides 0, 1 and 2. `program`: the path of the program that this process
        becomes by execve; None if it runs a function. `has_threads`: the function may start threads. A program always
        may.
        """
        if sys.platform == "linux":
            _give_up_privileges()
        if self._ruleset is not None:
            landlock.enter(self._ruleset if program is None else self._ruleset_for(program))
        _close_all_but(keep)
        if self._filters:
            seccomp.enter(self._filters[has_threads or program is not None, program is not None])

    def _ruleset_for(self, program: str) -> int:
        linkers = [path for pattern in _LINKERS for path in glob.glob(pattern)]
        return landlock.make_ruleset(self._readable, [program, *_interpreter(program), *linkers])


def _interpreter(program: str) -> list[str]:
    """Returns the interpreter that the first line of a script names; an empty list for other programs."""
    try:
        with open(program, "rb") as file:
            first = file.readline(256)
    except OSError:
        return []  # execve will fail too, and report it
    words = first[2:].split() if first.startswith(b"#!") else []
    return [os.fsdecode(word) for word in words[:1]]


def _leave_network() -> bool:
    """Enters a new network namespace, in which no device is up. Returns whether that was allowed."""
    return any(_system.unshare(flags) == 0 for flags in (_NEW_NETWORK, _NEW_NETWORK | _NEW_USER))


def _give_up_privileges() -> None:
    """Gives up all capabilities, and the possibility to get new ones by starting a program. Raises OSError if the
    kernel refuses.
    """
    if _system.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "no_new_privs")
    header, none = struct.pack("=Ii", _CAPABILITIES_3, 0), bytes(24)
    if _system.capset(header, none) < 0:
        raise OSError(ctypes.get_errno(), "capset")


def _close_all_but(keep: Sequence[int]) -> None:
    first = 3
    for descriptor in sorted(it for it in keep if it > 2):
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))
