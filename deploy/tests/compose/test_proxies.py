"""The Caddyfile on a real Caddy and nginx.conf on a real nginx: who answers which path, and what the upstreams are told
of the client.
"""

import json
import os
import re
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from deploy_kit import free_port, wait_until

from local.paths import ROOT
from local.processes.table import bound_to_parent
from local.servers import certificates
from local.testing.programs import program_or_skip

DOMAIN = "localhost"
BLOCK = b"x" * 2**20
#: The largest file of a plan.
UPLOAD_BLOCKS = 250
STOP_SECONDS = 20.0
Servers = dict[str, ThreadingHTTPServer]


class Upstream(BaseHTTPRequestHandler):
    """Answers with its name and what it was told; reads bodies without keeping them."""

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


class Proxy:
    """A running proxy with our file, in front of three upstreams."""

    def __init__(self, port: int, authority: Path, servers: Servers) -> None:
        self.port = port
        self.authority = authority
        self.servers = servers

    def ask(
        self, path: str, method: str = "GET", body: Any = None, **headers: str
    ) -> tuple[HTTPResponse, Any]:
        context = ssl.create_default_context(cafile=str(self.authority))
        connection = HTTPSConnection(DOMAIN, self.port, timeout=60, context=context)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        told = json.loads(answer.read() or b"{}")
        connection.close()
        return answer, told


def replaced(text: str, pairs: dict[str, str]) -> str:
    """Returns the text with each key's value in its place. Every key must be in it."""
    for old, new in pairs.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


@contextmanager
def running(
    argv: list[str], env: dict[str, str], folder: Path, port: int, authority: Path, servers: Servers
) -> Iterator[Proxy]:
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(bound_to_parent(argv, 15), env=os.environ | env, stdout=log, stderr=log)

    def listens() -> bool:
        assert process.poll() is None, (folder / "log").read_text()[-3000:]
        try:
            socket.create_connection((DOMAIN, port), 1).close()
        except OSError:
            return False
        return authority.exists()

    try:
        wait_until(listens, f"{argv[0]} listens")
        yield Proxy(port, authority, servers)
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


@contextmanager
def on_caddy(folder: Path, servers: Servers) -> Iterator[Proxy]:
    port = free_port()
    at = {name: f"127.0.0.1:{server.server_address[1]}" for name, server in servers.items()}
    text = replaced(
        (ROOT / "deploy/compose/Caddyfile").read_text(),
        {"gateway:8000": at["gateway"], "dashboard:8000": at["dashboard"]},
    )
    (folder / "Caddyfile").write_text(
        text.replace("{\n", f"{{\n\thttp_port {free_port()}\n\thttps_port {port}\n", 1)
    )
    env = {
        "DOMAIN": DOMAIN,
        "ACME_EMAIL": "dana@bakery.test",
        "CADDY_TLS": "tls internal",
        "S3_BUCKET": "posthaste-media",
        "S3_UPSTREAM": at["storage"],
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
    }
    argv = [
        program_or_skip("caddy", "caddy"),
        "run",
        "--config",
        str(folder / "Caddyfile"),
        "--adapter",
        "caddyfile",
    ]
    with running(argv, env, folder, port, folder / "caddy/pki/authorities/local/root.crt", servers) as proxy:
        yield proxy


@contextmanager
def on_nginx(folder: Path, servers: Servers) -> Iterator[Proxy]:
    port = free_port()
    keys = certificates.make(folder / "certificates", DOMAIN)
    guide = (ROOT / "docs/install.md").read_text()
    assert "deploy/compose/nginx.conf" in guide
    text = replaced(
        (ROOT / "deploy/compose/nginx.conf").read_text(),
        {
            "listen 80;": f"listen {free_port()};",
            "listen 443 ssl;": f"listen {port} ssl;",
            "/etc/letsencrypt/live/posthaste.your-company.com/fullchain.pem": str(keys / f"{DOMAIN}.crt"),
            "/etc/letsencrypt/live/posthaste.your-company.com/privkey.pem": str(keys / f"{DOMAIN}.key"),
            "posthaste.your-company.com": DOMAIN,
            **{
                f"127.0.0.1:{usual}": f"127.0.0.1:{servers[name].server_address[1]}"
                for usual, name in {8080: "gateway", 8081: "dashboard", 9000: "storage"}.items()
            },
        },
    )
    (folder / "site").write_text(text)
    temporary = "".join(
        f"{name}_temp_path {folder}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/log;\nevents {{}}\n"
        f"http {{ access_log off;\n{temporary}include {folder}/site; }}\n"
    )
    argv = [program_or_skip("nginx", "nginx"), "-c", str(folder / "nginx.conf"), "-p", str(folder)]
    with running(argv, {}, folder, port, keys / "ca.crt", servers) as proxy:
        yield proxy


@pytest.fixture(scope="module", params=[on_caddy, on_nginx], ids=["caddy", "nginx"])
def proxy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    servers = {name: upstream(name) for name in ("gateway", "dashboard", "storage")}
    folder = tmp_path_factory.mktemp("proxy")
    folder.chmod(0o755)
    try:
        with request.param(folder, servers) as proxy:
            yield proxy
    finally:
        for server in servers.values():
            server.shutdown()
            server.server_close()


def api_paths() -> list[str]:
    """The paths that the cluster's Ingress gives to the gateway."""
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


def test_requests_wait_for_a_gateway_that_is_being_replaced(
    proxy: Proxy, request: pytest.FixtureRequest
) -> None:
    if "nginx" in request.node.name:
        pytest.skip("nginx cannot: it answers 502 at once, and clients repeat")
    old = proxy.servers["gateway"]
    port = old.server_address[1]
    old.shutdown()
    old.server_close()
    found: list[Any] = []
    waiting = threading.Thread(target=lambda: found.append(proxy.ask("/api/v1/me")))
    begun_at = time.monotonic()
    waiting.start()
    waiting.join(1.0)
    assert waiting.is_alive()
    proxy.servers["gateway"] = upstream("gateway", port)
    waiting.join(15.0)
    assert found[0][0].status == 201
    assert time.monotonic() - begun_at < 15.0
