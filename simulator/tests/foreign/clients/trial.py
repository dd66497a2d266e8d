"""What the programs share that try out other people's clients: the connection to the simulator, and the report of what
worked.

Every host name leads to the simulator. So a client runs unchanged, with its own hosts and over TLS, and reaches
nothing else.
"""

import json
import os
import socket
import traceback
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

PORT = int(os.environ["SIMULATOR_PORT"])
_resolve, _connect = socket.getaddrinfo, socket.socket.connect


def _to_simulator(host: Any, port: Any, *more: Any, **named: Any) -> Any:
    return _resolve("127.0.0.1", PORT, *more, **named)


def _connect_to_simulator(self: socket.socket, address: Any) -> None:
    """Connects to the simulator. Replaces `socket.connect`, because httplib2 connects to a name without calling
    `getaddrinfo`.
    """
    _connect(self, ("127.0.0.1", PORT))


socket.getaddrinfo = _to_simulator
socket.socket.connect = _connect_to_simulator

import requests  # noqa: E402 - after every name leads to the simulator


def app(platform: str) -> tuple[str, str]:
    """Returns id and secret of our app at this platform."""
    app_id, _, secret = os.environ[f"APP_{platform}"].partition(" ")
    return app_id, secret


def callback(name: str) -> str:
    return f"https://app.test/connect/{name}/callback"


def visit(url: str) -> str:
    """Logs a person in at this login URL. Returns the URL to which the platform redirects the browser."""
    answer = requests.get(url, allow_redirects=False, timeout=30)
    assert answer.status_code == 302, answer.text
    return answer.headers["Location"]


def control(path: str, **body: Any) -> dict[str, Any]:
    """Calls the simulator's control API."""
    answer = requests.post(f"https://simulator.test/_sim/{path}", json=body, timeout=30)
    answer.raise_for_status()
    return answer.json()


def comment(platform: str, post_id: str, text: str) -> str:
    """Adds a visitor's comment to a post. Returns the comment's id."""
    visit = {"platform": platform, "post_id": post_id, "from": "Vera Visitor", "text": text}
    return control("comments", **visit)["id"]


def sample(name: str) -> bytes:
    """Returns a photo or video of the simulator's sample media."""
    answer = requests.get(f"https://simulator.test/media/{name}", timeout=60)
    answer.raise_for_status()
    return answer.content


def report(package: str, platform: str, *steps: Callable[[], None], **absent: str) -> None:
    """Runs the steps and prints, by the name of each, "yes" or its traceback. `absent`: the reasons for operations
    that the client does not have.
    """
    seen = {"name": f"{package} {version(package)} ({platform})"}
    for step in steps:
        name = step.__name__
        try:
            step()
            told = absent.get(name, "yes")
        except Exception:  # noqa: BLE001 - whatever a client raises is what came of it
            told = traceback.format_exc()
        seen[name.replace("_", " ")] = told
    print(json.dumps(seen))


def nothing(name: str) -> Callable[[], None]:
    """Returns an empty step for an operation that the client does not have."""

    def step() -> None:
        pass

    step.__name__ = name
    return step
