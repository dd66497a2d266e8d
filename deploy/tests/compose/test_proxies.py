"""The Caddyfile on a real Caddy and nginx.conf on a real nginx: which server answers which path, and what the servers
learn about the client.
"""

import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import yaml

from gateway.config import Config
from gateway.routes import ENDPOINTS
from local.paths import ROOT
from local.testing.proxies import DOMAIN, Proxy, on_caddy, on_nginx

BLOCK = b"x" * 2**20
#: The largest file of a plan.
UPLOAD_BLOCKS = 250
Servers = dict[str, ThreadingHTTPServer]


class Upstream(BaseHTTPRequestHandler):
    """Answers with its name and the headers about the client. Reads bodies without keeping them."""

    def answer(self) -> None:
        left = count = int(self.headers.get("Content-Length") or 0)
        while left > 0:
            left -= len(self.rfile.read(min(left, len(BLOCK))))
        told = {
            "name": self.server.name,  # type: ignore[attr-defined]
            "host": self.headers["Host"],
            "for": self.headers["X-Forwarded-For"],
            "proto": self.headers["X-Forwarded-Proto"],
            "bytes": count,
        }
        body = json.dumps(told).encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *_: Any) -> None:
        """Prints nothing."""


def upstream(name: str, port: int = 0) -> ThreadingHTTPServer:
    server = ThreadingHTTPServer(("127.0.0.1", port), Upstream)
    server.name = name  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    return server


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    servers = {name: upstream(name) for name in ("gateway", "dashboard", "storage")}
    yield servers
    for server in servers.values():
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module", params=[on_caddy, on_nginx], ids=["caddy", "nginx"])
def proxy(
    request: pytest.FixtureRequest, servers: Servers, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("proxy")
    folder.chmod(0o755)
    at = {name: f"127.0.0.1:{server.server_address[1]}" for name, server in servers.items()}
    with request.param(folder, at) as proxy:
        yield proxy


def api_paths() -> list[str]:
    """Returns the paths that the cluster's Ingress sends to the gateway."""
    text = (ROOT / "deploy/kubernetes/components/ingress/ingress.yaml").read_text()
    [ingress] = [it for it in yaml.safe_load_all(text) if it and it["metadata"]["name"] == "gateway"]
    paths = ingress["spec"]["rules"][0]["http"]["paths"]
    return [it["path"] for it in paths if it["backend"]["service"]["name"] == "gateway-service"]


def test_each_path_reaches_who_answers_it(proxy: Proxy) -> None:
    assert len(api_paths()) > 5
    for path in api_paths():
        assert proxy.ask(path)[1]["name"] == "gateway", path
        if not re.search(r"\.|z$", path):
            assert proxy.ask(f"{path}/further")[1]["name"] == "gateway", path
    for path in ("/", "/posts", "/apian", "/static/style.css"):
        assert proxy.ask(path)[1]["name"] == "dashboard", path
    assert (
        proxy.ask("/posthaste-media/ab/photo.jpg?X-Amz-Signature=1", "PUT", b"part")[1]["name"] == "storage"
    )


def test_the_host_is_kept_and_a_client_cannot_forge_its_address(proxy: Proxy) -> None:
    forged = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "http"}
    for path in ("/api/v1/me", "/", "/posthaste-media/x"):
        _, told = proxy.ask(path, **forged)
        assert told["host"] == f"{DOMAIN}:{proxy.port}"
        assert told["for"] in ("127.0.0.1", "::1")
        assert told["proto"] == "https"


@pytest.mark.parametrize("path", ["/api/v1/media/upload", "/posthaste-media/part"])
def test_a_file_of_250_mb_passes(proxy: Proxy, path: str) -> None:
    size = UPLOAD_BLOCKS * len(BLOCK)
    body = (BLOCK for _ in range(UPLOAD_BLOCKS))
    answer, told = proxy.ask(path, "POST", body, **{"Content-Length": str(size)})
    assert (answer.status, told["bytes"]) == (201, size)


def test_no_proxy_gives_up_before_the_longest_answer() -> None:
    longest = max(endpoint.deadline_seconds for endpoint in ENDPOINTS)
    longest += Config(amqp_url="", database_url="").read_seconds  # for the body, before its deadline
    for file, names in {
        "Caddyfile": ("response_header_timeout",),
        "nginx.conf": ("proxy_read_timeout", "proxy_send_timeout"),
    }.items():
        text = (ROOT / "deploy" / "compose" / file).read_text()
        for name in names:
            [waits] = re.findall(rf"^\s*{name} (\d+)s", text, re.MULTILINE)
            assert int(waits) > longest, (file, name)


def test_caddy_ends_an_idle_connection_before_the_api_does() -> None:
    text = (ROOT / "deploy" / "compose" / "Caddyfile").read_text()
    [seconds] = re.findall(r"^\s*keepalive (\d+)s", text, re.MULTILINE)
    assert int(seconds) < Config(amqp_url="", database_url="").read_seconds


def test_requests_wait_for_a_gateway_that_is_being_replaced(
    proxy: Proxy, servers: Servers, request: pytest.FixtureRequest
) -> None:
    if "nginx" in request.node.name:
        pytest.skip("nginx cannot: it answers 502 at once, and clients repeat")
    old = servers["gateway"]
    port = old.server_address[1]
    old.shutdown()
    old.server_close()
    found: list[Any] = []
    waiting = threading.Thread(target=lambda: found.append(proxy.ask("/api/v1/me")))
    begun_at = time.monotonic()
    waiting.start()
    waiting.join(1.0)
    assert waiting.is_alive()
    servers["gateway"] = upstream("gateway", port)
    waiting.join(15.0)
    assert found[0][0].status == 201
    assert time.monotonic() - begun_at < 15.0
