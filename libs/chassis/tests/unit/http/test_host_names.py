"""A slow resolver delays only the caller that asked it. The tests run in separate processes, patched like the
services'.
"""

import json
import subprocess
import sys

import pytest

#: A program that makes every call that resolves a name, one after the other, while a ticker runs beside them.
ASKING = """
import _socket, json, time

sleep, look_up = time.sleep, _socket.getaddrinfo

def slowly(host, *args):
    if not str(host).endswith(".test"):
        return look_up(host, *args)
    sleep(0.5)
    if str(host).startswith("unknown"):
        raise _socket.gaierror(_socket.EAI_NONAME, "Name or service not known")
    return look_up("127.0.0.1", *args)

_socket.getaddrinfo = slowly
{patch}

import socket, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import pika, requests, urllib3
from chassis.http import guarded_client
from chassis.bus.link import Link

class Here(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Here)
threading.Thread(target=server.serve_forever, daemon=True).start()
port = server.server_port

def unknown():
    try:
        urllib3.PoolManager(retries=False).request("GET", f"http://unknown.test:{{port}}/")
    except urllib3.exceptions.HTTPError as error:
        return type(error).__name__

def bus():
    link = Link(f"amqp://slow.test:{{port}}/", "here", lambda channel: None)
    link.start()
    time.sleep(0.7)
    link.stop()

ASKED = {{
    "urllib3": lambda: urllib3.PoolManager().request("GET", f"http://slow.test:{{port}}/").status,
    "requests": lambda: requests.get(f"http://slow.test:{{port}}/").status_code,
    "create_connection": lambda: socket.create_connection(("slow.test", port)).close(),
    "guarded_client": lambda: guarded_client.resolve("slow.test", port),
    "unknown": unknown,
    "pika": bus,
}}
ticks, answers, took = [time.monotonic()], {{}}, {{}}

def tick():
    while True:
        ticks.append(time.monotonic())
        time.sleep(0.01)

threading.Thread(target=tick, daemon=True).start()
for name, ask in ASKED.items():
    began = time.monotonic()
    answers[name] = ask()
    took[name] = time.monotonic() - began
gap = max(after - before for before, after in zip(ticks, ticks[1:]))
print(json.dumps({{"answers": answers, "took": took, "gap": gap, "ticks": len(ticks)}}), flush=True)
__import__("os")._exit(0)
"""
#: A program that looks up more names than the pool for work has threads. No lookup ends.
HANGING = """
import _socket, time

sleep = time.sleep
_socket.getaddrinfo = lambda *args: sleep(60)
import chassis.run

import socket, threading
from chassis.service import offload

for number in range(50):
    threading.Thread(target=socket.getaddrinfo, args=(f"{number}.test", 80), daemon=True).start()
time.sleep(0.1)
print(offload(sum, [1, 2]))
"""
PATCHES = {"services": "import chassis.run", "gateway": "from chassis.runtime import green; green.patch()"}


@pytest.mark.parametrize("process", PATCHES)
def test_a_slow_resolver_holds_up_nobody_but_who_asked(process: str) -> None:
    code = ASKING.format(patch=PATCHES[process])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["answers"] == {
        "urllib3": 204,
        "requests": 204,
        "create_connection": None,
        "guarded_client": ["127.0.0.1"],
        "unknown": "NameResolutionError",
        "pika": None,
    }
    assert min(seen["took"].values()) >= 0.5
    assert seen["ticks"] > 20
    assert seen["gap"] < 0.2


def test_names_that_hang_hold_up_neither_work_in_threads_nor_the_end_of_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HANGING], capture_output=True, text=True, check=True, timeout=20
    )
    assert done.stdout == "3\n"
