"""The attacks that a broken decoder tries. An attack that is refused raises OSError or RuntimeError."""

import _thread
import ctypes
import os
import resource
import socket
import subprocess

libc = ctypes.CDLL(None, use_errno=True)
#: ptrace's PTRACE_SEIZE, which stops nothing; unshare's CLONE_NEWUSER; the call io_uring_setup.
SEIZE, NEW_USER, IO_URING_SETUP = 0x4206, 0x10000000, 425


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")


def read(path):
    with open(path, "rb") as file:
        file.read(1)


def connect(address):
    """Connects to a TCP address, or to the path of a unix socket."""
    kind = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(kind, socket.SOCK_STREAM) as sock:
        sock.settimeout(5)
        sock.connect(address if isinstance(address, str) else tuple(address))


def send(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"secret", address)


def listen():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))


def fork():
    if os.fork() == 0:
        os._exit(0)


def write(path):
    with open(path, "w") as file:
        file.write("secret")


def seize(pid):
    checked(libc.ptrace(SEIZE, pid, None, None))


def peek(pid):
    with open(f"/proc/{pid}/mem", "rb"):
        pass


#: Name → what is tried on the targets.
ALL = {
    "read the environment of process 1": lambda on: read("/proc/1/environ"),
    "read the environment of the service": lambda on: read(f"/proc/{on['pid']}/environ"),
    "read the environment of the parent": lambda on: read(f"/proc/{os.getppid()}/environ"),
    "read the memory of the service": lambda on: peek(on["pid"]),
    "read a secret file": lambda on: read(on["secret"]),
    "list the folder of secrets": lambda on: os.listdir(os.path.dirname(on["secret"])),
    "read another upload": lambda on: read(on["upload"]),
    "read another upload without a name": lambda on: read(f"/proc/{on['pid']}/fd/{on['file']}"),
    "connect to AMQP": lambda on: connect(on["amqp"]),
    "connect to PostgreSQL": lambda on: connect(on["database"]),
    "connect to loopback": lambda on: connect(on["tcp"]),
    "listen": lambda on: listen(),
    "send by UDP": lambda on: send(tuple(on["udp"])),
    "connect to a unix socket": lambda on: connect(on["unix"]),
    "connect to an abstract socket": lambda on: connect("\0" + on["abstract"]),
    "make a pair of sockets": lambda on: [it.close() for it in socket.socketpair()],
    "fork": lambda on: fork(),
    "start a program": lambda on: subprocess.run(["/bin/true"], check=True),
    "become a program": lambda on: os.execv("/bin/true", ["true"]),
    "start a thread": lambda on: _thread.start_new_thread(os.getpid, ()),
    "write a file": lambda on: write(on["folder"] + "/created"),
    "overwrite a file": lambda on: write(on["written"]),
    "make a folder": lambda on: os.mkdir(on["folder"] + "/made"),
    "remove a file": lambda on: os.unlink(on["removed"]),
    "rename a file": lambda on: os.rename(on["renamed"], on["folder"] + "/renamed_away"),
    "change a file's mode": lambda on: os.chmod(on["written"], 0o644),
    "make a file in memory": lambda on: os.close(os.memfd_create("program")),
    "signal the service": lambda on: os.kill(on["pid"], 0),
    "trace the service": lambda on: seize(on["pid"]),
    "limit the service": lambda on: resource.prlimit(on["pid"], resource.RLIMIT_CORE, (0, 0)),
    "enter new namespaces": lambda on: checked(libc.unshare(NEW_USER)),
    "make an io_uring": lambda on: checked(libc.syscall(IO_URING_SETUP, 1, bytes(120))),
}

#: Name → what a program tries that the sandbox runs: a shell's own words.
SCRIPTS = {
    "a program reads the environment of process 1": 'read -r line < /proc/1/environ || [ -n "$line" ]',
    "a program reads the environment of the service": 'read -r line < /proc/{pid}/environ || [ -n "$line" ]',
    "a program reads a secret file": 'read -r line < {secret} || [ -n "$line" ]',
    "a program reads another upload": 'read -r line < {upload} || [ -n "$line" ]',
    "a program writes a file": ": > {folder}/by_a_program",
    "a program forks": "(exit 0)",
    "a program becomes another one": "exec /bin/echo done",
    "a program signals the service": "kill -0 {pid}",
}


def attack(argument, files=()):
    ALL[argument["name"]](argument["targets"])
