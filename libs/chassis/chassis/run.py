"""`python -m chassis.run <service>…` runs a service until SIGTERM, which lets running calls end first.

If the command names several services, they share the process, which suits small servers. Each has its own connections
and workers, and its own database from DATABASE_URL_<SERVICE>. They share all other settings.
"""

# The patch precedes every other import: a module imported earlier would keep blocking sockets and locks.
import os
import warnings

os.environ.setdefault("EVENTLET_NO_GREENDNS", "yes")
warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")  # known: docs/architecture.md

import eventlet

eventlet.monkey_patch()

from chassis.http import host_names

host_names.look_up_in_threads()

import importlib
import resource
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

import structlog
from eventlet.hubs import trampoline
from nameko.containers import ServiceContainer

from chassis import telemetry
from chassis.bus import green_loop
from chassis.bus.server import RpcServer
from chassis.config import BusConfig, ConfigError, ServiceConfig, TelemetryConfig, signatures
from chassis.db import clock, waits
from chassis.db.database import Database
from chassis.runtime import garbage, health
from chassis.runtime.container import Container, NamedContainer
from chassis.runtime.eventlet_hub import EventletHub
from chassis.signatures import Signatures
from chassis.telemetry import logs
from contracts.errors import ApiError

log = structlog.get_logger()

#: After a power loss PostgreSQL may recover for a minute. A process that ended instead of waiting would be started
#: again at ever longer intervals.
_PAUSE_SECONDS = 1.0
#: Longer than the server's statement_timeout (`chassis.db.database`), so that only a frozen connection exceeds it.
_DATABASE_SECONDS = 12.0
waits.bound(
    lambda file, seconds, late: trampoline(file, read=True, timeout=seconds, timeout_exc=late),
    lambda file, seconds, late: trampoline(file, write=True, timeout=seconds, timeout_exc=late),
    _DATABASE_SECONDS,
)
green_loop.install(EventletHub())


def service_class(name: str) -> type:
    """Returns the class with this `name` in the module `<name>.service`. Raises ConfigError if there is none."""
    module = importlib.import_module(f"{name}.service")
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and vars(value).get("name") == name
    ]
    if len(found) != 1:
        raise ConfigError(f"{name}.service must hold one class with name = {name!r}")
    return found[0]


def container_of(
    name: str,
    bus: BusConfig,
    service: ServiceConfig,
    signed: Signatures,
    kind: type[Container] = Container,
) -> ServiceContainer:
    return kind(
        service_class(name),
        {
            "AMQP_URL": bus.amqp_url,
            "SIGNATURES": signed,
            "DATABASE_URL": service.database_url,
            "DATABASE_POOL_SIZE": service.pool_size,
            "max_workers": service.max_workers,
        },
    )


def allow_all_files() -> None:
    """Raises the process's limit of open files (usually 1,024) to the highest that the system allows it. Each
    connection is a file, and the webhooks service has many."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS reports a limit that it does not grant
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def refuse_shifted_clock(bus: BusConfig, service: ServiceConfig) -> None:
    """Raises ConfigError when the database's clock is shifted although the settings do not allow it. Waits until the
    database answers.
    """
    database = Database(service.database_url, pool_size=1)
    while True:
        try:
            with database.reading() as connection:
                clock.refuse_shifted(connection, allowed=bus.clock_shift_allowed)
            break
        except ApiError as error:
            log.warning("database_away_at_start", reason=str(error.__cause__))
            eventlet.sleep(_PAUSE_SECONDS)
    database.close()


def server_of(container: ServiceContainer) -> RpcServer:
    return next(extension for extension in container.subextensions if isinstance(extension, RpcServer))


class Together:
    """The nameko containers of all services in this process. They start in order and stop in reverse order."""

    def __init__(self, containers: list[ServiceContainer]) -> None:
        self._containers = containers
        self._stopping = False

    def start(self) -> None:
        for container in self._containers:
            container.start()

    def wait(self) -> None:
        """Waits until all containers have ended. Raises the error of a container that failed."""
        for thread in [eventlet.spawn(self._outlive, container) for container in self._containers]:
            thread.wait()

    def stop(self) -> None:
        if not self._stopping:
            self._stopping = True
            for container in reversed(self._containers):
                container.stop()

    def _outlive(self, container: ServiceContainer) -> None:
        try:
            container.wait()
        finally:
            self.stop()


def run(names: Sequence[str]) -> None:
    """Runs services until the process is stopped.

    Name a called service before its callers, because services stop in reverse order. Raises ConfigError when the
    settings do not allow a start.
    """
    allow_all_files()
    bus = BusConfig.from_env()
    shared = len(names) > 1
    settings = {name: ServiceConfig.from_env(name if shared else None) for name in names}
    logs.configure("posthaste" if shared else names[0], bus.log_level)
    signed = {name: signatures(name) for name in names}
    for name, own in signed.items():
        if not own.can_verify:
            raise ConfigError(
                f"MESSAGE_KEYS has no secret of {name}. Use the value that chassis.message_keys printed for it"
            )
    for service in settings.values():
        refuse_shifted_clock(bus, service)
    for name in names:
        check_start = getattr(service_class(name), "before_start", None)
        if check_start is not None:
            check_start()
    kind = NamedContainer if shared else Container
    containers = [container_of(name, bus, service, signed[name], kind) for name, service in settings.items()]
    servers = [server_of(container) for container in containers]
    service = settings[names[0]]
    health.serve(
        service.health_host, service.health_port, lambda: all(server.is_consuming for server in servers)
    )
    together = Together(containers)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: eventlet.spawn(together.stop))
    telemetry.start("posthaste" if shared else names[0], TelemetryConfig.from_env())
    together.start()
    garbage.settle()
    log.info("service_started", health_port=service.health_port)
    together.wait()
    telemetry.stop()
    log.info("service_stopped")


def main() -> None:
    names = sys.argv[1:]
    if not names or len({*names}) < len(names):
        raise SystemExit("usage: python -m chassis.run <service>…")
    try:
        run(names)
    except ConfigError as error:
        raise SystemExit(f"{'+'.join(names)}: {error}") from None


if __name__ == "__main__":
    main()
