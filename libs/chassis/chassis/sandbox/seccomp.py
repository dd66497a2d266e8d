"""seccomp: lists the system calls that this process and its children may make. The kernel refuses all others
permanently.

The list has what a decoder needs: memory, files already open, reading files (Landlock restricts which), time. It
permits no new socket or connection, no fork, signal, ptrace or io_uring, and no opening of files for writing. Only
programs, and functions that ask for that, may start threads: neither ffmpeg nor libde265 runs without threads.

A refused call fails with ENOSYS, as on a kernel that lacks the call, so libc falls back to an older call. A call of
another architecture (32 bits on a 64-bit kernel) kills the process, because the same number means another call there.

The numbers of the calls are from Linux: `arch/x86/entry/syscalls/syscall_64.tbl` and
`include/uapi/asm-generic/unistd.h`.
"""

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Sequence

#: Machine → AUDIT_ARCH_… (`include/uapi/linux/audit.h`), and its column in the tables below.
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

#: Name, number on x86_64, number on aarch64 (which lacks some older calls).
_ALLOWED = """
read 0 63             write 1 64            readv 19 65           writev 20 66
pread64 17 67         pwrite64 18 68        lseek 8 62            close 3 57
dup 32 23             dup2 33 -             dup3 292 24           ftruncate 77 46
fsync 74 82           fadvise64 221 223     fstat 5 80            newfstatat 262 79
statx 332 291         stat 4 -              lstat 6 -             getdents64 217 61
access 21 -           faccessat 269 48      faccessat2 439 439    readlink 89 -
readlinkat 267 78     getcwd 79 17          poll 7 -              ppoll 271 73
select 23 -           pselect6 270 72       sendto 44 206         recvfrom 45 207
shutdown 48 210       getsockname 51 204    getpeername 52 205    getsockopt 55 209
mmap 9 222            munmap 11 215         mremap 25 216         mprotect 10 226
madvise 28 233        brk 12 214            futex 202 98          membarrier 324 283
rt_sigaction 13 134   rt_sigprocmask 14 135 rt_sigreturn 15 139   sigaltstack 131 132
restart_syscall 219 128                     sched_yield 24 124    sched_getaffinity 204 123
getpid 39 172         getppid 110 173       gettid 186 178        getuid 102 174
geteuid 107 175       getgid 104 176        getegid 108 177       uname 63 160
sysinfo 99 179        getrlimit 97 163      getrusage 98 165      times 100 153
time 201 -            gettimeofday 96 169   clock_gettime 228 113 clock_getres 229 114
nanosleep 35 101      clock_nanosleep 230 115                     getrandom 318 278
arch_prctl 158 -      set_tid_address 218 96                      set_robust_list 273 99
rseq 334 293          exit 60 93            exit_group 231 94
"""
_OPEN, _OPENAT, _IOCTL, _FCNTL, _PRLIMIT = (2, None), (257, 56), (16, 29), (72, 25), (302, 261)
_EXECVE, _CLONE = (59, 221), (56, 220)
#: CLONE_THREAD; and the flags of new namespaces (`include/uapi/linux/sched.h`). clone3 takes its flags from memory,
#: where no filter sees them: it is refused, and libc then calls clone.
_THREAD, _NEW_NAMESPACES = 0x00010000, 0x7E020080
#: O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND and the bit that makes O_TMPFILE.
_WRITING = 0o1 | 0o2 | 0o100 | 0o1000 | 0o2000 | 0o20000000
#: TCGETS (is it a terminal?), FIONBIO, FIONCLEX, FIOCLEX.
_IOCTLS = (0x5401, 0x5421, 0x5450, 0x5451)
#: F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC; not F_SETOWN, which sends signals.
_FCNTLS = (0, 1, 2, 3, 4, 1030)

_LOAD, _IF_EQUAL, _IF_BITS, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000 | errno.ENOSYS, 0x80000000
#: Offsets in `struct seccomp_data`. On both architectures the low half of an argument comes first.
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_SET_SECCOMP, _FILTER = 22, 2
_system = ctypes.CDLL(None, use_errno=True)

_Instruction = tuple[int, int, int, int]


def is_available() -> bool:
    """Whether this kernel, on this kind of processor, supports the filter of `enter`."""
    if sys.platform != "linux" or platform.machine() not in _MACHINES:
        return False
    # A kernel that takes filters answers EFAULT to a call without one.
    return _system.prctl(_SET_SECCOMP, _FILTER, None, 0, 0) < 0 and ctypes.get_errno() == errno.EFAULT


def decoder_filter(machine: str, *, may_execute: bool = False, has_threads: bool = False) -> bytes:
    """Returns the filter's instructions for a kind of processor: `machine` is x86_64 or aarch64.

    `has_threads`: threads may be started. `may_execute`: programs may be started by execve, and threads too.
    """
    architecture, column = _MACHINES[machine]
    program = [
        _load(_ARCHITECTURE),
        (_IF_EQUAL, 1, 0, architecture),
        _answer(_KILL),
        _load(_NUMBER),
    ]
    words = _ALLOWED.split()
    numbers = words[1 + column :: 3]
    for number in numbers:
        if number != "-":
            program += _when(int(number), [])
    program += _when(_IOCTL[column], _one_of(1, _IOCTLS))
    program += _when(_FCNTL[column], _one_of(1, _FCNTLS))
    program += _when(_OPENAT[column], _no_bits(2, _WRITING))
    program += _when(_OPEN[column], _no_bits(1, _WRITING))
    program += _when(_PRLIMIT[column], _null(0) + _null(2))  # only reading, and only its own limits
    if may_execute:
        program += _when(_EXECVE[column], [])
    if may_execute or has_threads:
        program += _when(_CLONE[column], _no_bits(0, _NEW_NAMESPACES) + _has_bit(0, _THREAD))
    return b"".join(struct.pack("=HBBI", *it) for it in [*program, _answer(_REFUSE)])


def enter(program: bytes) -> None:
    """Puts this process under the filter `program`. It must have set PR_SET_NO_NEW_PRIVS. Raises OSError if the kernel
    refuses.
    """
    held = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("@HP", len(program) // 8, ctypes.addressof(held))
    if _system.prctl(_SET_SECCOMP, _FILTER, described, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")


def _when(number: int | None, checks: Sequence[_Instruction]) -> list[_Instruction]:
    """Returns instructions that allow the system call with this number, unless one of the checks refuses it.

    They have no effect on other calls. `number` is None for a call that the machine does not have: the list is then
    empty.
    """
    if number is None:
        return []
    return [(_IF_EQUAL, 0, len(checks) + 1, number), *checks, _answer(_ALLOW)]


def _one_of(argument: int, values: Sequence[int]) -> list[_Instruction]:
    """Returns a check that refuses a system call unless its argument (32 bits) is one of the values.

    `argument` is the argument's position.
    """
    last = len(values) - 1
    tests = [(_IF_EQUAL, last - place + 1, 0, value) for place, value in enumerate(values)]
    return [_load(_ARGUMENTS + 8 * argument), *tests, _answer(_REFUSE)]


def _no_bits(argument: int, bits: int) -> list[_Instruction]:
    return [_load(_ARGUMENTS + 8 * argument), (_IF_BITS, 0, 1, bits), _answer(_REFUSE)]


def _has_bit(argument: int, bit: int) -> list[_Instruction]:
    return [_load(_ARGUMENTS + 8 * argument), (_IF_BITS, 1, 0, bit), _answer(_REFUSE)]


def _null(argument: int) -> list[_Instruction]:
    halves = (_ARGUMENTS + 8 * argument, _ARGUMENTS + 8 * argument + 4)
    return [it for half in halves for it in (_load(half), (_IF_EQUAL, 1, 0, 0), _answer(_REFUSE))]


def _load(offset: int) -> _Instruction:
    return (_LOAD, 0, 0, offset)


def _answer(action: int) -> _Instruction:
    return (_RETURN, 0, 0, action)
