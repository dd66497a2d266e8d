"""Runs CPU work on untrusted bytes in separate processes, with limits of memory and time and inside a sandbox.

Each module that holds such work has one fork server. It is started on first use and keeps the module imported; each
piece of work runs in a fresh fork of it (about 3 ms), which ends with the work. The caller waits on a socket, so that
other green threads continue. Requests and results travel as JSON, files as open descriptors. An external program runs
in the same sandbox; it has the files as its descriptors 0, 1, 2 and so on, and ends with the service.

The fork server keeps only the environment variables in `_KEPT`, so no secret. A fork enters
`chassis.sandbox.confinement` before it reads any untrusted byte, so that an exploited decoder sees only its own files
and libraries. `SandboxPool.confinement` reports what the running kernel enforces. A fork that cannot enter the sandbox
does no work (NotStarted).
"""

import array
import ctypes
import fcntl
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
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import msgspec

from chassis.sandbox.confinement import Confinement, Sandbox
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.record import Record

#: An answer is a few figures, never an image. Our choice.
_MAX_ANSWER_BYTES = 4 * 2**20
_LENGTH = struct.Struct("!I")
#: Environment variables that the fork server keeps: paths, language, temporary folder.
_KEPT = ("PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LANG", "TMPDIR")
#: The caller waits this much longer than the time limit, so that the kernel ends the work first.
_GRACE_SECONDS = 2.0
#: The longest wait for a free process, far below the two minutes that the gateway waits for an upload. After it the
#: caller gets NotStarted.
_TURN_SECONDS = 30.0
#: Limit of open files of the fork server and each fork: the passed files, and libraries opened one at a time.
_MAX_DESCRIPTORS = 64
#: A program's files get the descriptors below this one; what a fork was handed is above it.
_PLACES = 16
_LOWEST_PRIORITY = 19
#: prctl's PR_SET_PDEATHSIG.
_SIGNAL_OF_PARENTS_DEATH = 1
_system = ctypes.CDLL(None)


class WorkFailed(Exception):
    """Raised when the work raised an exception. The text is the name and message of that exception."""


class OutOfLimits(WorkFailed):
    """Raised when the work exceeded its limits of time, memory or output, or crashed its process."""


class NotStarted(ApiError):
    """Raised as SERVICE_UNAVAILABLE when no process could be started for the work, or when a program's process was
    killed before it reported the exit status. A retry may help.
    """

    def __init__(self, problem: str) -> None:
        super().__init__(SERVICE_UNAVAILABLE, retry_after_seconds=2)
        self.problem = problem
        self.args += (problem,)


class Limits(Record):
    """The most memory, time and file size that one piece of work may use. The defaults suit small work."""

    memory_bytes: int = 1024 * 2**20
    #: Elapsed time and CPU time.
    seconds: int = 60
    cpu_seconds: int = 20
    #: Size of each written file.
    file_bytes: int = 256 * 2**20
    #: For work of minutes: it has the lowest priority, and leaves one core to others if there are several.
    in_background: bool = False


class _Order(Record):
    limits: Limits
    function: str = ""
    argument: Any = None
    has_threads: bool = False
    #: Path and arguments of a program, instead of a function.
    program: tuple[str, ...] = ()


class _Answer(Record):
    result: Any = None
    #: The message of an exception in the work.
    problem: str | None = None
    #: The work ran out of memory.
    exhausted: bool = False
    #: The sandbox could not be entered, so the work was not run.
    unconfined: bool = False


class SandboxPool:
    """Runs functions of one module, each call in its own sandboxed process. For real and green threads."""

    def __init__(self, module: str, limits: Limits | None = None, *, at_once: int | None = None) -> None:
        self._module, self._limits = module, limits or Limits()
        self._turns = threading.BoundedSemaphore(at_once or os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._fork_server: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def run(
        self,
        function: str,
        argument: Any = None,
        files: Sequence[int] = (),
        *,
        has_threads: bool = False,
        has_turn: bool = False,
    ) -> Any:
        """Runs `module.function(argument, files)` in its own process, and returns its result, a JSON value.

        `files` are open descriptors to pass. `has_threads`: the function may start threads. `has_turn`: the caller has
        reserved a process with `turn`. Raises WorkFailed if the function raised an exception, OutOfLimits if it
        exceeded a limit, and NotStarted if no process could be started.
        """
        order = _Order(function=function, argument=argument, has_threads=has_threads, limits=self._limits)
        return self._answer(order, files, has_turn=has_turn)

    def confinement(self) -> Confinement:
        """Returns which parts of the sandbox the kernel enforces, as a process inside it reports. Raises NotStarted if
        no process can be started.
        """
        try:
            return msgspec.convert(self._answer(_Order(limits=self._limits), ()), Confinement)
        except WorkFailed as error:
            raise NotStarted(str(error)) from error

    def run_program(
        self,
        program: Sequence[str],
        files: Sequence[int],
        limits: Limits | None = None,
        *,
        has_turn: bool = False,
    ) -> int:
        """Runs a program (path and arguments), and returns its exit status; if a signal ended it, minus that signal.

        The program gets `files` as its descriptors from 0 on. `limits` replace those of the pool. `has_turn`: the
        caller has reserved a process with `turn`.

        Raises WorkFailed when the program cannot be executed. Raises NotStarted when no process could be started, and
        also when no exit status came, for example because the pool was closed meanwhile.
        """
        order = _Order(program=tuple(program), limits=limits or self._limits)
        with self._sent(order, files, has_turn=has_turn) as channel:
            try:
                return msgspec.convert(_read_answer(channel), int)
            except (EOFError, OSError) as error:
                raise NotStarted("the program was ended from outside") from error

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Reserves one of the pool's processes for the block. Raises NotStarted when none becomes free in time.

        Used for programs that run one after another, and for work whose files are fetched first: then the disk holds
        files only for work that has a process.
        """
        if not self._turns.acquire(timeout=_TURN_SECONDS):
            raise NotStarted("too many tasks are waiting")
        try:
            yield
        finally:
            self._turns.release()

    def close(self) -> None:
        """Ends the fork server, and running programs with it. Running functions continue to their end."""
        with self._lock:
            self._end()

    def _answer(self, order: _Order, files: Sequence[int], *, has_turn: bool = False) -> Any:
        """Runs one piece of work and returns its result. Raises WorkFailed, OutOfLimits or NotStarted,
        as `run` does.
        """
        with self._sent(order, files, has_turn=has_turn) as channel:
            try:
                return _read_answer(channel)
            except (EOFError, OSError) as error:
                raise OutOfLimits("the process ended without an answer") from error

    @contextmanager
    def _sent(
        self, order: _Order, files: Sequence[int], *, has_turn: bool = False
    ) -> Iterator[socket.socket]:
        """Starts a process, sends `order` (the work to do) to it, and yields the socket on which the process will
        answer.
        """
        body = msgspec.json.encode(order)
        with nullcontext() if has_turn else self.turn():
            ours, theirs = socket.socketpair()
            with ours, theirs:
                ours.settimeout(order.limits.seconds + _GRACE_SECONDS)
                self._send_in([theirs.fileno(), *files])
                theirs.close()
                with suppress(OSError):  # it has ended already, which reading the channel will show
                    ours.sendall(_LENGTH.pack(len(body)) + body)
                yield ours

    def _send_in(self, descriptors: Sequence[int]) -> None:
        """Passes the descriptors to the fork server for its next fork. If the server has died, starts a new one.
        Raises NotStarted if that fails.
        """
        with self._lock:
            for last in (False, True):
                try:
                    if self._control is None:
                        self._start()
                    assert self._control is not None
                    self._control.sendmsg(
                        [b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
                    )
                    return
                except OSError as error:
                    self._end()
                    if last:
                        raise NotStarted(str(error)) from error

    def _start(self) -> None:
        self._control, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with inside:
            self._fork_server = subprocess.Popen(
                [sys.executable, "-P", "-m", "chassis.sandbox.pool", str(inside.fileno()), self._module],
                pass_fds=[inside.fileno()],
                stdin=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _KEPT if name in os.environ},
            )

    def _end(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._fork_server is not None:
            self._fork_server.kill()
            self._fork_server.wait()
            self._fork_server = None


def _read_answer(channel: socket.socket) -> Any:
    """Reads a process's answer and returns the result in it.

    Raises WorkFailed, OutOfLimits or NotStarted if the answer reports that error, and WorkFailed if the answer is
    malformed. Raises EOFError or OSError when there is no complete answer.
    """
    try:
        said = msgspec.json.decode(_read_framed(channel), type=_Answer)
    except msgspec.DecodeError as error:  # an exploited decoder may write anything
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


def _serve_forks(control: socket.socket, module: str) -> None:
    """Runs the fork server: forks for every packet, until the service closes the control socket."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C ends the service, which then closes the control socket
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nothing waits for the children
    resource.setrlimit(resource.RLIMIT_NOFILE, (_MAX_DESCRIPTORS, _MAX_DESCRIPTORS))
    importlib.import_module(module)
    sandbox = Sandbox()
    control.setblocking(True)  # the other end, a green socket, is non-blocking
    while True:
        packet, descriptors, _, _ = socket.recv_fds(control, 1, 16)
        if not packet:
            return
        if os.fork() == 0:
            control.close()  # its number may lie above those that the sandbox closes
            _work(module, descriptors, sandbox)
        for descriptor in descriptors:
            os.close(descriptor)


def _work(module: str, descriptors: list[int], sandbox: Sandbox) -> None:
    """Runs in the forked process: does the work of one order in the sandbox, sends one answer, and ends.

    If the work is a program, it runs in a child process. This process then only waits for it, and reads no untrusted
    byte.
    """
    descriptors = [fcntl.fcntl(it, fcntl.F_DUPFD_CLOEXEC, _PLACES) for it in descriptors]
    with suppress(BaseException), socket.socket(fileno=descriptors[0]) as channel:
        channel.setblocking(True)
        order = msgspec.json.decode(_read_framed(channel), type=_Order)
        if order.program and (child := _fork_that_ends_with_its_parent()):
            # If the program could not be started, the child has answered already, and nobody reads this.
            answer = _Answer(result=os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        else:
            answer = _confined_answer(order, module, descriptors, sandbox)
        body = msgspec.json.encode(answer)
        channel.sendall(_LENGTH.pack(len(body)) + body)
    os._exit(0)


def _fork_that_ends_with_its_parent() -> int:
    """Forks this process, and returns as `os.fork` does. The kernel kills this process when the fork server ends, and
    the child when this process ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _system.prctl(_SIGNAL_OF_PARENTS_DEATH, signal.SIGKILL, 0, 0, 0)
    child = os.fork()
    if child == 0:
        _system.prctl(_SIGNAL_OF_PARENTS_DEATH, signal.SIGKILL, 0, 0, 0)
    return child


def _confined_answer(order: _Order, module: str, descriptors: list[int], sandbox: Sandbox) -> _Answer:
    try:
        _confine(order, descriptors, sandbox)
    except OSError as error:
        return _Answer(problem=f"no sandbox: {error}", unconfined=True)
    try:
        if order.program:
            os.execve(order.program[0], order.program, {})
        if not order.function:
            return _Answer(result=sandbox.confinement)
        return _Answer(result=getattr(sys.modules[module], order.function)(order.argument, descriptors[1:]))
    except MemoryError:
        return _Answer(problem="out of memory", exhausted=True)
    except Exception as error:  # noqa: BLE001 - the caller gets it as WorkFailed
        return _Answer(problem=f"{type(error).__name__}: {error}"[:1000])


def _confine(order: _Order, descriptors: list[int], sandbox: Sandbox) -> None:
    """Sets the order's limits and enters the sandbox, which the kernel enforces from then on. Raises OSError if the
    kernel refuses a part.
    """
    channel, *files = descriptors
    places = files if order.program else []
    nothing = os.open(os.devnull, os.O_RDWR)
    for place, file in enumerate(places + [nothing] * (3 - len(places))):
        os.dup2(file, place)
        os.set_blocking(place, True)  # the other end, a green socket, is non-blocking
    limits = order.limits
    if limits.in_background:
        _give_way()
    for kind, value in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_CORE, 0),
        # It counts threads too; where they are allowed, seccomp alone refuses processes.
        *(() if order.program or order.has_threads else ((resource.RLIMIT_NPROC, 0),)),
    ):
        resource.setrlimit(kind, (value, value))
    # SIGXCPU first: with SIGKILL alone a program that used too much would look like one that was ended from outside.
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 1))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(limits.seconds)
    if order.program:
        sandbox.enter([*range(3, len(places)), channel], order.program[0])
    else:
        sandbox.enter(descriptors, has_threads=order.has_threads)


def _give_way() -> None:
    """Lets other processes of this container go first, and leaves one core to them if there are several."""
    os.nice(_LOWEST_PRIORITY)
    # With niceness alone, a process that wakes up waits until the other's time slice ends (docs/performance.md).
    with suppress(OSError, AttributeError):  # gVisor refuses it, macOS does not have it
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    with suppress(OSError, AttributeError):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[1:] or cores)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as _control:
        _serve_forks(_control, sys.argv[2])
