"""Runs Caddy with our Caddyfile, or nginx with our nginx.conf, in front of servers that a test names."""

import json
import os
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any

from local.paths import ROOT
from local.processes.table import bound_to_parent
from local.servers import certificates
from local.servers.ports import any_free
from local.testing.programs import program_or_skip

DOMAIN = "localhost"
START_SECONDS, STOP_SECONDS = 30.0, 20.0
#: gateway, dashboard and storage → host:port.
Addresses = Mapping[str, str]


class Proxy:
    """A running proxy with our configuration, in front of the gateway, the dashboard and the storage."""

    def __init__(self, port: int, authority: Path) -> None:
        self.port = port
        self.authority = authority

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
    """Returns the text with each key replaced by its value. Asserts that the text contains every key."""
    for old, new in pairs.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


@contextmanager
def running(
    argv: list[str], env: dict[str, str], folder: Path, port: int, authority: Path
) -> Iterator[Proxy]:
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(bound_to_parent(argv, 15), env=os.environ | env, stdout=log, stderr=log)

    def listens() -> bool:
        """Whether the proxy accepts TLS connections. Caddy creates its certificate only after it has
        begun to listen.
        """
        assert process.poll() is None, (folder / "log").read_text()[-3000:]
        try:
            context = ssl.create_default_context(cafile=str(authority))
            with socket.create_connection((DOMAIN, port), 5) as plain:
                context.wrap_socket(plain, server_hostname=DOMAIN).close()
        except OSError:
            return False
        return True

    try:
        end = time.monotonic() + START_SECONDS
        while not listens():
            assert time.monotonic() < end, f"{argv[0]} does not listen"
            time.sleep(0.02)
        yield Proxy(port, authority)
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


@contextmanager
def on_caddy(folder: Path, at: Addresses) -> Iterator[Proxy]:
    port = any_free()
    text = replaced(
        (ROOT / "deploy/compose/Caddyfile").read_text(),
        {"gateway:8000": at["gateway"], "dashboard:8000": at["dashboard"]},
    )
    (folder / "Caddyfile").write_text(
        text.replace("{\n", f"{{\n\thttp_port {any_free()}\n\thttps_port {port}\n", 1)
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
    with running(argv, env, folder, port, folder / "caddy/pki/authorities/local/root.crt") as proxy:
        yield proxy


@contextmanager
def on_nginx(folder: Path, at: Addresses, ports: tuple[int, int] | None = None) -> Iterator[Proxy]:
    """Runs nginx with nginx.conf. `ports`: those for http and https; without it, any free ones."""
    http_port, port = ports or (any_free(), any_free())
    keys = certificates.make(folder / "certificates", DOMAIN)
    guide = (ROOT / "docs/install.md").read_text()
    assert "deploy/compose/nginx.conf" in guide
    text = replaced(
        (ROOT / "deploy/compose/nginx.conf").read_text(),
        {
            "listen 80;": f"listen {http_port};",
            "listen 443 ssl;": f"listen {port} ssl;",
            "/etc/letsencrypt/live/posthaste.your-company.com/fullchain.pem": str(keys / f"{DOMAIN}.crt"),
            "/etc/letsencrypt/live/posthaste.your-company.com/privkey.pem": str(keys / f"{DOMAIN}.key"),
            "posthaste.your-company.com": DOMAIN,
            **{
                f"127.0.0.1:{usual}": at[name]
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
    with running(argv, {}, folder, port, keys / "ca.crt") as proxy:
        yield proxy
