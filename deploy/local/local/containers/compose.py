"""Runs the project's own `docker-compose.yml` on the engine, with a demo account, for the tests with containers."""

import ipaddress
import json
import ssl
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chassis.broker_access import PROCESSES
from chassis.message_keys import all_message_keys, new_secrets
from local.containers import images
from local.containers.engine import Engine
from local.demo.journey import Journey
from local.environment import read_env, values_of, write_env
from local.paths import ROOT
from local.processes.table import NotReady
from local.stack import account, units
from local.stack.stack import Tell, wait_answers

DEMO = ROOT / "deploy" / "compose" / "demo.env"
#: Where a test listens for webhooks; every account may have them delivered there, on any of the engine's networks.
RECEIVER_PORT = 18765
ENGINE_NETWORKS = "172.16.0.0/12"
#: Settings of demo.env that size it for a small server.
OF_COMPACT = {
    "CONNECTIONS",
    "DOWNLOADS_AT_ONCE",
    "MALLOC_ARENA_MAX",
    "POSTGRES_MAX_CONNECTIONS",
    "POSTGRES_SHARED_BUFFERS",
    "RABBITMQ_ERL_ARGS",
    "UPLOADS_AT_ONCE",
    "WORKERS",
    "DATABASE_POOL_SIZE",
}
#: Of `core`, which has Caddy in front as in docs/install.md. The name is this machine's own, inside a container too, so
#: only the storage's address for clients names it: nobody inside calls that one.
DOMAIN = "localhost"
BEHIND_CADDY = {
    "DOMAIN": DOMAIN,
    "ACME_EMAIL": "dana@bakery.test",
    "CADDY_TLS": "tls internal",
    "S3_PUBLIC_URL": f"https://{DOMAIN}",
}
UP_SECONDS = "240"


class Composed:
    """A Compose stack. Its run directory has the settings (`settings.env`) and the demo account (`env`).

    `profile`: compact (all services in one process) or core. Both use the simulator in place of the platforms.
    `sources`: the checkout with docker-compose.yml and the sources of our images.
    """

    def __init__(self, engine: Engine, run: Path, profile: str, sources: Path = ROOT) -> None:
        self.engine = engine
        self.run = run
        self.sources = sources
        self.profile = profile
        self.settings = run / "settings.env"
        run.mkdir(parents=True)
        (run / "backup").mkdir(mode=0o700)
        self.settings.touch(mode=0o600)
        demo = values_of(DEMO)
        if profile != "compact":
            demo = {name: value for name, value in demo.items() if name not in OF_COMPACT}
            demo |= {f"AMQP_PASSWORD_{process.upper()}": f"demo-only-{process}" for process in PROCESSES}
            keys = all_message_keys(new_secrets())
            demo |= {f"MESSAGE_KEYS_{process.upper()}": keys[process] for process in PROCESSES}
            demo |= BEHIND_CADDY
        self.set(demo | images.SETTINGS)
        self.set(
            {
                "COMPOSE_PROFILES": f"{profile},demo" if profile == "compact" else f"{profile},tls,demo",
                "BACKUP_FOLDER": str(run / "backup"),
                "WEBHOOK_ALLOWED_CIDRS": f"*={ENGINE_NETWORKS}:{RECEIVER_PORT}",
            }
        )
        write_env(
            run,
            {
                "BASE_URL": f"{demo['PUBLIC_BASE_URL']}/api/v1",
                "DASHBOARD_URL": demo["DASHBOARD_URL"],
                "SIMULATOR_URL": "http://127.0.0.1:8090",
                **units.SAMPLES,
            },
        )

    def set(self, values: Mapping[str, str]) -> None:
        """Adds settings to the end of the stack's settings file, as an operator adds lines to `.env`. If several lines
        have the same name, the last line counts.
        """
        with self.settings.open("a") as file:
            file.writelines(f"{name}={value}\n" for name, value in values.items())

    def compose(
        self, *words: str, stdin: str | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Runs `docker compose` with these arguments and the stack's settings. Raises AssertionError if it fails,
        unless `check` is false.
        """
        options = (
            "--project-directory",
            str(self.sources),
            "--project-name",
            "posthaste",
            "--env-file",
            str(self.settings),
        )
        return self.engine.docker("compose", *options, *words, stdin=stdin, check=check)

    def build(self) -> None:
        """Builds the operator's image, then all images of the profile at once, with the project's Dockerfile.

        The operator's image is built first and alone: it creates the layer with the libraries, which the other images
        reuse. The image of the backups is built separately, because it has a profile of its own.
        """
        backup = [("backup",)] if self.profile == "core" else []
        for names in (("ctl",), (), *backup):
            self.compose("--parallel", "2", "build", "--quiet", *names)

    def up(self, *names: str) -> None:
        """Starts the named containers, or all if none is named, unless they run and are up to date. Waits until they
        are healthy. Raises AssertionError with their states if they do not become healthy.
        """
        done = self.compose("up", "--detach", "--wait", "--wait-timeout", UP_SECONDS, *names, check=False)
        if done.returncode != 0:
            raise self._not_healthy(done.stderr[-2000:])
        if not names:
            self.wait_ready(60.0)

    def wait_ready(self, seconds: float) -> None:
        """Waits until the API answers. Raises AssertionError with the states of the containers after `seconds`."""
        try:
            wait_answers(self.api.removesuffix("/api/v1") + "/readyz", seconds=seconds)
        except NotReady as error:
            raise self._not_healthy(str(error)) from None

    def _not_healthy(self, reason: str) -> AssertionError:
        states = self.compose("ps", "--all", "--format", "{{.Service}} {{.Status}}").stdout
        logs = self.compose("logs", "--tail", "20").stdout
        return AssertionError(f"the stack did not become healthy:\n{reason}\n{states}\n{logs[-6000:]}")

    def start(self, tell: Tell) -> None:
        """Removes the stack that is on the engine, if there is one. Then starts everything and creates the demo
        account.
        """
        self.down()
        self.up()
        self.operator()
        account.complete(self.run, tell, self.ctl)

    def operator(self) -> None:
        """Starts a container in which `ctl` runs operator commands, because starting one for each command would take a
        second.
        """
        self.compose("run", "--detach", "--name", "operator", "--entrypoint", "sleep", "ctl", "infinity")

    def down(self) -> None:
        """Removes containers and volumes. Kills the processes in them."""
        self.engine.docker("rm", "--force", "operator", check=False)
        self.compose("down", "--volumes", "--remove-orphans", "--timeout", "0")

    @contextmanager
    def trusted(self) -> Iterator[ssl.SSLContext]:
        """Yields a TLS context that trusts the certificate authority that Caddy has created."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "root.crt")
            self.compose("cp", "caddy:/data/caddy/pki/authorities/local/root.crt", str(path))
            yield ssl.create_default_context(cafile=str(path))

    @property
    def api(self) -> str:
        return read_env(self.run)["BASE_URL"]

    def ctl(self, *arguments: str) -> Any:
        """Runs an operator command in the operator's container, and returns its output, decoded from JSON. Raises
        Refused if the command fails.
        """
        argv = ("exec", "operator", "python", "-m", "ctl", "--json", *arguments)
        return account.decoded(arguments, self.engine.docker(*argv, check=False))

    def journey(self) -> Journey:
        """Returns the demo journey for this stack, with webhooks."""
        return Journey(self.run, self.ctl, (self.receiver_host(), RECEIVER_PORT))

    def receiver_host(self) -> str:
        """Returns this machine's address on the engine's outer network. A test may receive webhooks there."""
        found = json.loads(self.engine.docker("network", "inspect", "posthaste_outside").stdout)
        return str(ipaddress.ip_address(found[0]["IPAM"]["Config"][0]["Gateway"]))

    def address(self, service: str) -> str:
        """Returns a container's address on the inner network, which this machine can reach."""
        container = self.compose("ps", "--quiet", service).stdout.strip()
        shown = json.loads(self.engine.docker("inspect", container).stdout)
        return str(shown[0]["NetworkSettings"]["Networks"]["posthaste_inside"]["IPAddress"])

    def containers(self) -> dict[str, str]:
        """Returns service → id of its running container, for all images that contain our code (not backup)."""
        shown = self.compose("ps", "--format", "{{.Service}} {{.ID}} {{.Image}}").stdout.split("\n")
        rows = [line.split() for line in shown if line]
        return {
            service: id_
            for service, id_, image in rows
            if image.startswith("posthaste/") and service != "backup"
        }
