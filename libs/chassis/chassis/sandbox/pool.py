"""Runs CPU work on untrusted bytes in separate processes, with limits of memory and time and inside a sandbox.

Each module that holds such work has one fork server. It is started on first use and keeps the module imported; each
piece of work runs in a fresh fork of it (about 3 ms), which ends with the work. The caller waits on a socket, so that
other green threads continue. Requests and results travel as JSON, files as open descriptors. An external program
replaces the fork, keeps its limits, and gets two of the files as its standard input and output.

The fork server has no environment variables but the paths of Python's modules. A fork enters
`chassis.sandbox.confinement` before it reads any untrusted byte, so that an exploited decoder sees only its own files
and libraries. `SandboxPool.confinement` reports what the running kernel enforces. A fork that cannot enter the sandbox
does no work (NotStarted).
"""

import array
import importlib
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import msgspec

from chassis.sandbox.confinement import Confinement, Sandbox
from contracts.record import Record

#: An answer is a few figures, never a picture. Our choice.
_MAX_ANSWER_BYTES = 4 * 2**20
_LENGTH = struct.Struct("!I")
#: What the nursery keeps of our environment: where Python finds its modules.
_KEPT = ("PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LANG", "TMPDIR")
#: The caller waits this much longer than the work may take: the kernel ends the work first.
_GRACE_SECONDS = 2.0
#: Who waits longer for a turn is told to come again. Our choice.
_TURN_SECONDS = 30.0
#: Descriptors of the nursery and of each fork: the files handed over, and libraries opened one by one. Our choice.
_MAX_DESCRIPTORS = 64


class WorkFailed(Exception):
    """The work raised an exception; its name and message are the text."""


class OutOfLimits(WorkFailed):
    """The work was ended: it took too long, wanted too much memory, wrote too much, or crashed its process."""


class NotStarted(Exception):
    """No process could be started for the work; trying again may help."""


class Limits(Record):
    """Of one piece of work. Our choices; a module's owner knows better."""

    memory_bytes: int = 1024 * 2**20
    #: By the clock, and of the processor.
    seconds: int = 60
    cpu_seconds: int = 20
    #: Each file it writes.
    file_bytes: int = 256 * 2**20


class _Order(Record):
    limits: Limits
    function: str = ""
    argument: Any = None
    #: Instead of a function: a program's path and arguments.
    program: tuple[str, ...] = ()


class _Answer(Record):
    result: Any = None
    #: Of an exception the work raised.
    problem: str | None = None
    #: It ran out of memory.
    exhausted: bool = False
    #: The sandbox could not be entered, and nothing was done.
    unconfined: bool = False


class SandboxPool:
    """Functions of one module, each call in a confined process; for threads real or green."""

    def __init__(self, module: str, limits: Limits | None = None, *, at_once: int | None = None) -> None:
        self._module, self._limits = module, limits or Limits()
        self._turns = threading.BoundedSemaphore(at_once or os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._nursery: subprocess.Popen[bytes] | None = None
        self._door: socket.socket | None = None

    def run(self, function: str, argument: Any = None, files: Sequence[int] = ()) -> Any:
        """`module.function(argument, files)` in a process of its own; its result, a JSON value.

        `files` are open descriptors, the same files to both. Raises WorkFailed, OutOfLimits, NotStarted.
        """
        return self._answer(_Order(function=function, argument=argument, limits=self._limits), files)

    def confinement(self) -> Confinement:
        """What holds of the sandbox, told by a process that has entered it. Raises NotStarted."""
        try:
            return msgspec.convert(self._answer(_Order(limits=self._limits), ()), Confinement)
        except WorkFailed as error:
            raise NotStarted(str(error)) from error

    def run_program(self, program: Sequence[str], files: Sequence[int]) -> None:
        """A program's path and arguments, until it has ended; whether it went well, its output tells.

        `files`: its standard input and output. Raises WorkFailed (it cannot be run), OutOfLimits (its time was over),
        NotStarted.
        """
        with self._sent(_Order(program=tuple(program), limits=self._limits), files) as channel:
            try:
                _read_answer(channel)
            except EOFError:
                return  # the program kept the channel open, and said nothing: it knows of none
            except OSError as error:
                raise OutOfLimits("the program did not end") from error

    def close(self) -> None:
        """End the nursery; work that runs goes on to its end."""
        with self._lock:
            self._end()

    def _answer(self, order: _Order, files: Sequence[int]) -> Any:
        """The result. Raises WorkFailed, OutOfLimits, NotStarted."""
        with self._sent(order, files) as channel:
            try:
                return _read_answer(channel)
            except (EOFError, OSError) as error:
                raise OutOfLimits("the process ended without an answer") from error

    @contextmanager
    def _sent(self, order: _Order, files: Sequence[int]) -> Iterator[socket.socket]:
        """The channel to the process that works on the order."""
        body = msgspec.json.encode(order)
        with self._turn():
            ours, theirs = socket.socketpair()
            with ours, theirs:
                ours.settimeout(self._limits.seconds + _GRACE_SECONDS)
                self._send_in([theirs.fileno(), *files])
                theirs.close()
                with suppress(OSError):  # it has ended already: so the channel says too
                    ours.sendall(_LENGTH.pack(len(body)) + body)
                yield ours

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._turns.acquire(timeout=_TURN_SECONDS):
            raise NotStarted("too much work waits")
        try:
            yield
        finally:
            self._turns.release()

    def _send_in(self, descriptors: Sequence[int]) -> None:
        """Hand over what the next fork works with; the nursery is started anew if it died."""
        with self._lock:
            for last in (False, True):
                try:
                    if self._door is None:
                        self._start()
                    assert self._door is not None
                    self._door.sendmsg(
                        [b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
                    )
                    return
                except OSError as error:
                    self._end()
                    if last:
                        raise NotStarted(str(error)) from error

    def _start(self) -> None:
        self._door, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with inside:
            self._nursery = subprocess.Popen(
                [sys.executable, "-P", "-m", "chassis.sandbox.pool", str(inside.fileno()), self._module],
                pass_fds=[inside.fileno()],
                stdin=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _KEPT if name in os.environ},
            )

    def _end(self) -> None:
        if self._door is not None:
            self._door.close()
            self._door = None
        if self._nursery is not None:
            self._nursery.kill()
            self._nursery.wait()
            self._nursery = None


def _read_answer(channel: socket.socket) -> Any:
    """The work's result. Raises WorkFailed, OutOfLimits, NotStarted; EOFError or OSError when there is no answer."""
    try:
        said = msgspec.json.decode(_read_framed(channel), type=_Answer)
    except msgspec.DecodeError as error:  # a decoder that is broken into may write anything
        raise WorkFailed("the answer cannot be read") from error
    if said.problem is not None:
        kind = NotStarted if said.unconfined else OutOfLimits if said.exhausted else WorkFailed
        raise kind(said.problem)
    return said.result


def _read_framed(sock: socket.socket) -> bytes:
    (length,) = _LENGTH.unpack(_read_exactly(sock, _LENGTH.size))
    if length > _MAX_ANSWER_BYTES:
        raise EOFError
    return _read_exactly(sock, length)


def _read_exactly(sock: socket.socket, length: int) -> bytes:
    read = b""
    while len(read) < length:
        piece = sock.recv(length - len(read))
        if not piece:
            raise EOFError
        read += piece
    return read


def _nursery(door: socket.socket, module: str) -> None:
    """Fork for every packet that comes, until the service closes the door."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the service, which then closes the door
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    resource.setrlimit(resource.RLIMIT_NOFILE, (_MAX_DESCRIPTORS, _MAX_DESCRIPTORS))
    importlib.import_module(module)
    sandbox = Sandbox()
    door.setblocking(True)  # a green socket's other end is not
    while True:
        packet, descriptors, _, _ = socket.recv_fds(door, 1, 16)
        if not packet:
            return
        if os.fork() == 0:
            door.close()  # its number may lie above those that the sandbox closes
            _work(module, descriptors, sandbox)
        for descriptor in descriptors:
            os.close(descriptor)


def _work(module: str, descriptors: list[int], sandbox: Sandbox) -> None:
    """The confined process: one order, one answer, the end."""
    with suppress(BaseException), socket.socket(fileno=descriptors[0]) as channel:
        channel.setblocking(True)
        order = msgspec.json.decode(_read_framed(channel), type=_Order)
        try:
            _confine(order, descriptors, sandbox)
        except OSError as error:
            answer = _Answer(problem=f"no sandbox: {error}", unconfined=True)
        else:
            answer = _answer_to(order, module, descriptors, sandbox)
        body = msgspec.json.encode(answer)
        channel.sendall(_LENGTH.pack(len(body)) + body)
    os._exit(0)


def _answer_to(order: _Order, module: str, descriptors: list[int], sandbox: Sandbox) -> _Answer:
    try:
        if order.program:
            os.execve(order.program[0], order.program, {})
        if not order.function:
            return _Answer(result=sandbox.confinement)
        return _Answer(result=getattr(sys.modules[module], order.function)(order.argument, descriptors[1:]))
    except MemoryError:
        return _Answer(problem="out of memory", exhausted=True)
    except Exception as error:  # noqa: BLE001 - the caller is told
        return _Answer(problem=f"{type(error).__name__}: {error}"[:1000])


def _confine(order: _Order, descriptors: list[int], sandbox: Sandbox) -> None:
    """From here on the kernel ends this process at its limits, and refuses what the sandbox forbids. Raises OSError."""
    channel, *files = descriptors
    nothing = os.open(os.devnull, os.O_RDWR)
    given, taken = files if order.program else (nothing, nothing)
    for place, file in enumerate((given, taken, nothing)):
        os.dup2(file, place)
        os.set_blocking(place, True)  # a green socket's other end is not
    # A program has the channel too: that it ends is all it tells.
    os.set_inheritable(channel, True)
    limits = order.limits
    for kind, value in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
    ):
        resource.setrlimit(kind, (value, value))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(limits.seconds)
    if order.program:
        sandbox.enter([channel], order.program[0])
    else:
        sandbox.enter(descriptors)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as _door:
        _nursery(_door, sys.argv[2])
