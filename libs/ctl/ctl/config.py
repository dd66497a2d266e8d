"""The settings of the command line. Only this module reads its environment variables."""

import os

from chassis import config
from chassis.signatures import Signatures
from contracts.record import Record
from contracts.senders import CTL

_DATABASE = "DATABASE_URL_"


class CtlConfig(Record):
    """The settings of the command line. Each is read when it is used, so that a command needs only its own settings."""

    @property
    def amqp_url(self) -> str:
        return config.amqp_url()

    @property
    def signatures(self) -> Signatures:
        """Returns the keys with which calls are signed. Raises ConfigError if they are missing or malformed."""
        return config.signatures(CTL)

    @property
    def simulator_url(self) -> str | None:
        """The simulator's address on the local stack; None in production."""
        return os.environ.get("SIMULATOR_URL") or None

    @property
    def clock_shift_allowed(self) -> bool:
        return config.flag("CLOCK_SHIFT_ALLOWED")

    @property
    def database_urls(self) -> dict[str, str]:
        """Returns service → address of its database, from every DATABASE_URL_<SERVICE>. Raises ConfigError when none is
        set."""
        given = {name.removesuffix("_FILE") for name, value in os.environ.items() if value}
        services = sorted(
            name.removeprefix(_DATABASE).lower() for name in given if name.startswith(_DATABASE)
        )
        urls = {service: config.service_database_url(service) for service in services}
        if not urls:
            raise config.ConfigError("no DATABASE_URL_<SERVICE> is set")
        return urls
