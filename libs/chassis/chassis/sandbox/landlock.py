"""Landlock: permanently takes the rights to files, TCP and signals from this process and its children.

Linux 5.13 has the first ABI (version of the interface). The constants of this module, and the ABI that added each
right, are from Linux: `include/uapi/linux/landlock.h` and `Documentation/userspace-api/landlock.rst`. Containers may
use Landlock where the default seccomp profile allows its calls: Docker's since moby pull request 43199, containerd's
since pull request 6494.
"""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from contextlib import suppress

#: The three system calls have the same numbers on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION, _PATH_BENEATH = 1, 1
_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
#: The number of rights to files by ABI; they are the lowest bits. Later ABIs are used like ABI 5: seccomp refuses what
#: they add (ABI 9: connecting to a socket by its path).
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
#: ABI 4: binding and connecting. ABI 6: abstract unix sockets of processes outside, and signals to them.
_TCP, _TCP_ABI = 0b11, 4
_SCOPES, _SCOPES_ABI = 0b11, 6
_system = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """Returns the version of the kernel's Landlock interface; 0 if it has none or a container forbids it."""
    try:
        return _call(_CREATE_RULESET, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def make_ruleset(readable: Iterable[str], executable: Iterable[str] = ()) -> int:
    """Returns a descriptor of rules that permit reading under `readable` and executing the files `executable`.

    Writing is refused; from ABI 4 on also TCP, from ABI 6 on also signals and abstract unix sockets. Paths that do not
    exist, or that this process cannot reach anyway, are left out. Raises OSError if the kernel refuses a rule.
    """
    version = abi()
    files = (1 << _FILE_RIGHTS[max(1, min(version, max(_FILE_RIGHTS)))]) - 1
    tcp = _TCP if version >= _TCP_ABI else 0
    scopes = _SCOPES if version >= _SCOPES_ABI else 0
    attributes = struct.pack("=QQQ", files, tcp, scopes)  # older kernels take trailing zeros
    ruleset = _call(_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for path in readable:
            _allow(ruleset, path, _READ_FILE | _READ_DIR)
        for path in executable:
            _allow(ruleset, path, _READ_FILE | _EXECUTE)
    except OSError:
        os.close(ruleset)
        raise
    return ruleset


def enter(ruleset: int) -> None:
    """Puts this process under the rules. It must have set PR_SET_NO_NEW_PRIVS. Raises OSError if the kernel refuses."""
    _call(_RESTRICT_SELF, ruleset, 0)


def _allow(ruleset: int, path: str, rights: int) -> None:
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        file = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(file).st_mode):
                rights &= ~_READ_DIR
            _call(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, file), 0)
        finally:
            os.close(file)


def _call(number: int, *arguments: int | bytes | None) -> int:
    """Makes a system call and returns its result. Raises OSError if it fails."""
    passed = [ctypes.c_long(it) if isinstance(it, int) else it for it in arguments]
    result: int = _system.syscall(ctypes.c_long(number), *passed)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}: {os.strerror(ctypes.get_errno())}")
    return result
