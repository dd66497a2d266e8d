"""The attacks that a broken decoder tries, on real targets: every one works outside the sandbox and is refused inside.

A process plays the service, as root and as uid 10001. An outer seccomp filter plays a kernel without Landlock or
seccomp: it refuses their system calls. A test that this machine cannot run is skipped with the reason. Without root the
tests run only as their own user.
"""

import base64
import importlib.util
import json
import os
import platform
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy.engine import make_url

from chassis.sandbox import landlock, seccomp

FOLDER = Path(__file__).parents[1] / "attacker"
_spec = importlib.util.spec_from_file_location("attacks", FOLDER / "attacks.py")
attacks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(attacks)

ALL = (*attacks.ALL, *attacks.SCRIPTS)
FILES = tuple(name for name in ALL if name.startswith(("read", "list")) or " reads " in name)
CALLS = tuple(name for name in ALL if name not in FILES and name != "a program becomes another one")
TCP = ("connect to AMQP", "connect to loopback", "listen")
#: Refused outside too: to uid 10001, by Yama or sysctls, or as a local PostgreSQL's unix socket is its user's alone.
NOT_ALWAYS_POSSIBLE = {
    "connect to PostgreSQL",
    "read the environment of process 1",
    "read the environment of the parent",
    "a program reads the environment of process 1",
    "trace the service",
    "read the memory of the service",
    "enter new namespaces",
    "make an io_uring",
}
#: root and the images' user.
USERS = (0, 10001) if os.getuid() == 0 else (os.getuid(),)
NOT_PLAYED = pytest.mark.skip("the tests do not run as root, so they cannot play root and uid 10001")
each_user = pytest.mark.parametrize(
    "uid",
    [*USERS, *(pytest.param(uid, marks=NOT_PLAYED) for uid in (0, 10001) if os.getuid() not in (0, uid))],
)
HAS_LANDLOCK, HAS_SECCOMP = landlock.abi() > 0, seccomp.is_available()
needs_landlock = pytest.mark.skipif(not HAS_LANDLOCK, reason="this kernel has no Landlock")
needs_seccomp = pytest.mark.skipif(not HAS_SECCOMP, reason="this kernel has no seccomp filters")
needs_landlock_of_tcp = pytest.mark.skipif(
    landlock.abi() < 4, reason="this kernel's Landlock has no rules for TCP (ABI 4, Linux 6.7)"
)

#: BPF: load a word, compare, answer; of answers: allow, EOPNOTSUPP, EINVAL, EPERM.
LOAD, EQUAL, ANSWER = 0x20, 0x15, 0x06
ALLOW, NOT_SUPPORTED, INVALID, NOT_PERMITTED = 0x7FFF0000, 0x50000 + 95, 0x50000 + 22, 0x50000 + 1
PRCTL, SET_SECCOMP = {"x86_64": 157, "aarch64": 167}.get(platform.machine(), 0), 22
CREATE_RULESET, RESTRICT_SELF = 444, 446
UNSHARE = {"x86_64": 272, "aarch64": 97}.get(platform.machine(), 0)


def refusing(call: int, answer: int) -> list[tuple[int, int, int, int]]:
    return [(LOAD, 0, 0, 0), (EQUAL, 0, 1, call), (ANSWER, 0, 0, answer), (ANSWER, 0, 0, ALLOW)]


WITHOUT_LANDLOCK = refusing(CREATE_RULESET, NOT_SUPPORTED)
WITHOUT_SECCOMP = [
    (LOAD, 0, 0, 0), (EQUAL, 0, 3, PRCTL), (LOAD, 0, 0, 16), (EQUAL, 0, 1, SET_SECCOMP),
    (ANSWER, 0, 0, INVALID), (ANSWER, 0, 0, ALLOW),
]  # fmt: skip


def database_address(url: str) -> str | tuple[str, int]:
    """Returns the path of a unix socket if the URL names its folder, otherwise host and port."""
    parts = make_url(url)
    folder = parts.query.get("host")
    return f"{folder}/.s.PGSQL.{parts.port or 5432}" if folder else (parts.host, parts.port or 5432)


@pytest.fixture
def targets() -> Iterator[dict[str, Any]]:
    """Servers and files that every user of these tests can reach and change."""
    folder = Path(tempfile.mkdtemp(prefix="sandbox-", dir="/tmp"))
    folder.chmod(0o777)
    files = {name: folder / name for name in ("secret", "upload", "written", "removed", "renamed")}
    for path in files.values():
        path.write_text("secret")
        path.chmod(0o666)
        if os.getuid() == 0:
            os.chown(path, USERS[-1], USERS[-1])
    amqp = urlsplit(os.environ["TEST_AMQP_URL"])
    servers = {
        "amqp": (amqp.hostname, amqp.port),
        "database": database_address(os.environ["TEST_DATABASE_URL"]),
    }
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        udp.bind(("127.0.0.1", 0))
        for listener, address in ((unix, str(folder / "unix")), (abstract, f"\0{folder}")):
            listener.bind(address)
            listener.listen()
        (folder / "unix").chmod(0o777)
        names = {name: str(path) for name, path in files.items()} | {
            "folder": str(folder),
            "unix": str(folder / "unix"),
            "abstract": str(folder),
        }
        yield servers | names | {"tcp": tcp.getsockname(), "udp": udp.getsockname()}
    shutil.rmtree(folder)


@pytest.fixture
def victim(targets: dict[str, Any]) -> Callable[..., dict[str, Any]]:
    """`victim(uid, inside=…, outside=…, lacking=…)` runs the attacks, and returns their outcomes and what the sandbox
    reports.
    """

    def play(uid: int, *, inside: Any = (), outside: Any = (), lacking: Any = ()) -> dict[str, Any]:
        instructions = b"".join(struct.pack("=HBBI", *it) for it in lacking)
        order = {
            "uid": uid,
            "targets": targets,
            "inside": inside,
            "outside": outside,
            "filter": base64.b64encode(instructions).decode(),
        }
        env = {"PYTHONPATH": os.pathsep.join([str(FOLDER), *sys.path]), "AMQP_PASSWORD": "secret"}
        command = [sys.executable, "-B", str(FOLDER / "victim.py"), json.dumps(order)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, cwd="/")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return play


@each_user
def test_each_attack_works_outside_of_the_sandbox(victim: Any, uid: int) -> None:
    """Shows that a refusal inside the sandbox comes from the sandbox."""
    tried = [name for name in ALL if name not in NOT_ALWAYS_POSSIBLE]
    assert victim(uid, outside=tried)["outside"] == dict.fromkeys(tried, "done")


@each_user
def test_which_refusals_are_not_known_to_be_the_sandbox_s(victim: Any, uid: int) -> None:
    """The test is skipped if attacks fail on this machine even without the sandbox. The reason names them."""
    outside = victim(uid, outside=sorted(NOT_ALWAYS_POSSIBLE))["outside"]
    if refused := [name for name, outcome in outside.items() if outcome == "refused"]:
        pytest.skip(f"refused to uid {uid} without the sandbox too: {', '.join(refused)}")


@each_user
@needs_landlock
@needs_seccomp
def test_every_attack_from_the_sandbox_is_refused(victim: Any, uid: int) -> None:
    found = victim(uid, inside=ALL)
    assert found["inside"] == dict.fromkeys(ALL, "refused")
    assert found["uid"] == uid
    assert found["missing"] == []


@each_user
def test_the_sandbox_says_what_this_kernel_lacks(victim: Any, uid: int) -> None:
    lacking = [name for name, holds in (("landlock", HAS_LANDLOCK), ("seccomp", HAS_SECCOMP)) if not holds]
    assert victim(uid)["missing"] == lacking


@each_user
@needs_landlock
@needs_seccomp
def test_a_container_without_namespaces_refuses_the_same(victim: Any, uid: int) -> None:
    """Docker's default profile refuses unshare to containers without CAP_SYS_ADMIN."""
    found = victim(uid, inside=ALL, lacking=refusing(UNSHARE, NOT_PERMITTED))
    assert found["network"] is False
    assert found["inside"] == dict.fromkeys(ALL, "refused")


@each_user
@needs_seccomp
def test_without_landlock_files_can_be_read_and_all_else_is_refused(victim: Any, uid: int) -> None:
    found = victim(uid, inside=("read a secret file", *CALLS), lacking=WITHOUT_LANDLOCK)
    assert found["missing"] == ["landlock"]
    assert found["inside"].pop("read a secret file") == "done"
    assert found["inside"] == dict.fromkeys(CALLS, "refused")


@each_user
@needs_landlock
def test_without_seccomp_files_are_refused(victim: Any, uid: int) -> None:
    names = (*FILES, "write a file")
    found = victim(uid, inside=names, lacking=WITHOUT_SECCOMP)
    assert found["missing"] == ["seccomp"]
    assert found["inside"] == dict.fromkeys(names, "refused")


@each_user
@needs_landlock_of_tcp
def test_without_seccomp_tcp_is_refused(victim: Any, uid: int) -> None:
    found = victim(uid, inside=TCP, lacking=WITHOUT_SECCOMP)
    assert found["inside"] == dict.fromkeys(TCP, "refused")


@each_user
@needs_landlock
def test_a_fork_that_cannot_enter_the_sandbox_does_no_work(victim: Any, uid: int) -> None:
    attempts = ("read a secret file", "a program reads a secret file")
    found = victim(uid, inside=attempts, lacking=refusing(RESTRICT_SELF, NOT_PERMITTED))
    assert found["inside"] == dict.fromkeys(attempts, "not started")
    assert found["missing"] is None
