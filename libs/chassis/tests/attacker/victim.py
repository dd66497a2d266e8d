"""A process that plays the service: it runs attacks outside and inside the sandbox, and prints their outcomes.

The first argument names the attacks as JSON, and the outcomes are printed as JSON. A process that becomes another user
may still read the interpreter and its modules, wherever they are. Its forks lose that right, like all others.
"""

import base64
import ctypes
import json
import os
import struct
import subprocess
import sys
import tempfile

import attacks

from chassis.sandbox import seccomp
from chassis.sandbox.pool import Limits, NotStarted, OutOfLimits, SandboxPool, WorkFailed

#: prctl's PR_SET_DUMPABLE, PR_SET_KEEPCAPS, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT and its "raise"; capset's version 3.
DUMPABLE, KEEP_CAPABILITIES, NO_NEW_PRIVS, AMBIENT, RAISE, VERSION_3 = 4, 8, 38, 47, 2, 0x20080522
DAC_READ_SEARCH = 2
libc = ctypes.CDLL(None, use_errno=True)


def become(uid):
    libc.prctl(KEEP_CAPABILITIES, 1, 0, 0, 0)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    kept = 1 << DAC_READ_SEARCH
    if libc.capset(struct.pack("=Ii", VERSION_3, 0), struct.pack("=6I", kept, kept, kept, 0, 0, 0)) == 0:
        libc.prctl(AMBIENT, RAISE, DAC_READ_SEARCH, 0, 0)
    libc.prctl(DUMPABLE, 1, 0, 0, 0)


def attack_outside(name):
    pid = os.fork()
    if pid == 0:
        try:
            attacks.attack({"name": name, "targets": targets})
        except BaseException:  # noqa: BLE001 - the exit code tells
            os._exit(1)
        os._exit(0)
    return "done" if os.waitpid(pid, 0)[1] == 0 else "refused"


def attack_inside(workshop, name):
    try:
        workshop.run("attack", {"name": name, "targets": targets})
    except NotStarted:
        return "not started"
    except OutOfLimits as error:
        return f"ended: {error}"
    except WorkFailed:
        return "refused"
    return "done"


def script_of(name):
    """Returns a shell script that runs no other program than the one that the attack tries to start."""
    return attacks.SCRIPTS[name].format(**targets) + " && echo done"


def script_outside(name):
    done = subprocess.run(["/bin/sh", "-c", script_of(name)], capture_output=True, check=False)
    return "done" if b"done" in done.stdout else "refused"


def script_inside(workshop, name):
    with open(os.devnull, "rb") as given, tempfile.TemporaryFile() as taken:
        try:
            workshop.run_program(("/bin/sh", "-c", script_of(name)), (given.fileno(), taken.fileno()))
        except NotStarted:
            return "not started"
        taken.seek(0)
        return "done" if b"done" in taken.read() else "refused"


order = json.loads(sys.argv[1])
targets = order["targets"]
if order["uid"] != os.getuid():
    become(order["uid"])
upload = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process
targets.update(pid=os.getpid(), file=upload.fileno())
found = {"uid": os.getuid(), "outside": {}, "inside": {}}
for name in order["outside"]:
    found["outside"][name] = script_outside(name) if name in attacks.SCRIPTS else attack_outside(name)
if order["filter"]:
    libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
    seccomp.enter(base64.b64decode(order["filter"]))
workshop = SandboxPool("attacks", Limits(seconds=10))
for name in order["inside"]:
    attempt = script_inside if name in attacks.SCRIPTS else attack_inside
    found["inside"][name] = attempt(workshop, name)
try:
    held = workshop.confinement()
    found |= {"abi": held.landlock_abi, "seccomp": held.seccomp, "network": held.network_namespace}
    found["missing"] = held.missing
except NotStarted:
    found["missing"] = None
workshop.close()
print(json.dumps(found))
