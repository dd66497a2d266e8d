"""`python -m chassis.run <service>`: runs one service until SIGTERM, which lets running calls end first."""

# The patch comes before every other import: a module imported earlier would keep blocking sockets and locks.
import os

os.environ.setdefault("EVENTLET_NO_GREENDNS", "yes")

import eventlet

eventlet.monkey_patch()

import importlib
import signal
import sys

import structlog
from nameko.containers import ServiceContainer

from chassis import clock, health, logs
from chassis.config import BusConfig, ConfigError, ServiceConfig
from chassis.database import Database
from chassis.server import RpcServer

log = structlog.get_logger()


def service_class(name: str) -> type:
    """The class in `<name>.service` whose `name` it is."""
    module = importlib.import_module(f"{name}.service")
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and vars(value).get("name") == name
    ]
    if len(found) != 1:
        raise ConfigError(f"{name}.service must hold one class with name = {name!r}")
    return found[0]


def container_of(name: str, bus: BusConfig, service: ServiceConfig) -> ServiceContainer:
    return ServiceContainer(
        service_class(name),
        {
            "AMQP_URL": bus.amqp_url,
            "DATABASE_URL": service.database_url,
            "DATABASE_POOL_SIZE": service.pool_size,
            "max_workers": service.max_workers,
        },
    )


def refuse_shifted_clock(bus: BusConfig, service: ServiceConfig) -> None:
    database = Database(service.database_url, pool_size=1)
    with database.reading() as connection:
        clock.refuse_shifted(connection, allowed=bus.clock_shift_allowed)
    database.close()


def run(name: str) -> None:
    """Raises ConfigError when the settings do not allow a start."""
    bus, service = BusConfig.from_env(), ServiceConfig.from_env()
    logs.configure(name, bus.log_level)
    refuse_shifted_clock(bus, service)
    container = container_of(name, bus, service)
    server = next(extension for extension in container.subextensions if isinstance(extension, RpcServer))
    health.serve(service.health_host, service.health_port, lambda: server.is_consuming)
    signal.signal(signal.SIGTERM, lambda *_: eventlet.spawn(container.stop))
    signal.signal(signal.SIGINT, lambda *_: eventlet.spawn(container.stop))
    container.start()
    log.info("service_started", health_port=service.health_port)
    container.wait()
    log.info("service_stopped")


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m chassis.run <service>")
    try:
        run(sys.argv[1])
    except ConfigError as error:
        raise SystemExit(f"{sys.argv[1]}: {error}") from None


if __name__ == "__main__":
    main()
