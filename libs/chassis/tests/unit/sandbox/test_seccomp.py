"""The seccomp filter, interpreted as the kernel does, for both architectures on any machine."""

import errno
import struct
from collections.abc import Sequence

import pytest

from chassis.sandbox import seccomp

ALLOW, KILL = 0x7FFF0000, 0x80000000
REFUSE = 0x00050000 | errno.ENOSYS
ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
#: Calls by name, from the kernel's tables: on x86_64, on aarch64.
NUMBERS = {
    "read": (0, 63), "write": (1, 64), "mmap": (9, 222), "openat": (257, 56), "ioctl": (16, 29), "fcntl": (72, 25),
    "exit_group": (231, 94), "prlimit64": (302, 261), "execve": (59, 221), "execveat": (322, 281),
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "accept4": (288, 242), "socketpair": (53, 199),
    "sendmsg": (46, 211), "recvmsg": (47, 212), "clone": (56, 220), "clone3": (435, 435), "kill": (62, 129),
    "tgkill": (234, 131), "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "unshare": (272, 97), "setns": (308, 268),
    "mount": (165, 40), "prctl": (157, 167), "seccomp": (317, 277), "bpf": (321, 280), "unlinkat": (263, 35),
    "mkdirat": (258, 34), "renameat2": (316, 276), "fchmodat": (268, 53), "memfd_create": (319, 279),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "perf_event_open": (298, 241), "keyctl": (250, 219),
    "userfaultfd": (323, 282), "open_by_handle_at": (304, 265), "setuid": (105, 146), "setrlimit": (160, 164),
}  # fmt: skip
NEEDED = ("read", "write", "mmap", "exit_group")
O_WRONLY, O_RDWR, O_CREAT, O_TMPFILE, O_CLOEXEC = 0o1, 0o2, 0o100, 0o20000000, 0o2000000
F_GETFL, F_SETOWN, FIONBIO, TIOCSTI = 3, 8, 0x5421, 0x5412

each_machine = pytest.mark.parametrize("machine", ["x86_64", "aarch64"])


def run(program: bytes, architecture: int, number: int, arguments: Sequence[int] = ()) -> int:
    """Returns the filter's answer. Interprets the five instructions that it uses, as Linux's `bpf_prog_run` does."""
    data = struct.pack("=IIQ6Q", number, architecture, 0, *[*arguments, *[0] * 6][:6])
    instructions = list(struct.iter_unpack("=HBBI", program))
    word = place = 0
    while True:
        code, when_true, when_false, value = instructions[place]
        place += 1
        if code == 0x06:
            return value
        if code == 0x20:
            (word,) = struct.unpack_from("=I", data, value)
        elif code in (0x15, 0x45):
            holds = word == value if code == 0x15 else bool(word & value)
            place += when_true if holds else when_false
        else:
            pytest.fail(f"unknown instruction {code:#x}")


def answer(machine: str, call: str, *arguments: int, **allowed: bool) -> int:
    number = NUMBERS[call][machine == "aarch64"]
    program = seccomp.decoder_filter(machine, **allowed)
    return run(program, ARCHITECTURE[machine], number, arguments)


@each_machine
@pytest.mark.parametrize("may_execute", [False, True])
def test_a_decoder_may_make_the_calls_it_needs_and_no_other(machine, may_execute):
    allowed = {call for call in NUMBERS if answer(machine, call, 7, 1, 1, may_execute=may_execute) == ALLOW}
    expected = {*NEEDED, "fcntl"} | ({"execve"} if may_execute else set())
    assert allowed == expected


@each_machine
@pytest.mark.parametrize("allowed", ["may_execute", "has_threads"])
def test_where_threads_are_allowed_processes_and_namespaces_are_not(machine, allowed):
    """Uses the flags with which glibc's pthread_create and fork call clone."""
    thread, fork = 0x3D0F00, 0x01200011
    assert answer(machine, "clone", thread, **{allowed: True}) == ALLOW
    assert answer(machine, "clone", thread) == REFUSE
    assert answer(machine, "clone", fork, **{allowed: True}) == REFUSE
    assert answer(machine, "execve", has_threads=True) == REFUSE
    for namespace in (0x00020000, *(1 << bit for bit in range(25, 31))):
        assert answer(machine, "clone", thread | namespace, **{allowed: True}) == REFUSE


@each_machine
@pytest.mark.parametrize("flags", [O_WRONLY, O_RDWR, O_CREAT, O_TMPFILE | O_RDWR])
def test_files_are_opened_for_reading_alone(machine, flags):
    assert answer(machine, "openat", 0, 0, O_CLOEXEC) == ALLOW
    assert answer(machine, "openat", 0, 0, flags) == REFUSE


@each_machine
def test_calls_of_many_uses_have_those_a_decoder_needs(machine):
    assert answer(machine, "fcntl", 3, F_GETFL) == ALLOW
    assert answer(machine, "fcntl", 3, F_SETOWN) == REFUSE
    assert answer(machine, "ioctl", 3, FIONBIO) == ALLOW
    assert answer(machine, "ioctl", 3, TIOCSTI) == REFUSE


@each_machine
def test_limits_may_be_read_of_the_process_itself_and_set_of_nobody(machine):
    assert answer(machine, "prlimit64", 0, 7, 0, 2**40) == ALLOW
    assert answer(machine, "prlimit64", 4711, 7, 0, 2**40) == REFUSE
    assert answer(machine, "prlimit64", 0, 7, 2**40, 0) == REFUSE


@each_machine
def test_a_call_of_another_architecture_ends_the_process(machine):
    program = seccomp.decoder_filter(machine)
    other = ARCHITECTURE["aarch64" if machine == "x86_64" else "x86_64"]
    for architecture in (other, 0x40000003, 0x40000028):  # i386, 32-bit ARM
        assert run(program, architecture, 0) == KILL


def test_the_x32_numbers_of_x86_64_are_refused():
    """To the kernel x32 is the same architecture. Only bit 30 of its call numbers differs."""
    program = seccomp.decoder_filter("x86_64")
    assert {run(program, ARCHITECTURE["x86_64"], 0x40000000 | number) for number in range(600)} == {REFUSE}
