"""Where the stack is: the only reader of the command line's environment."""

import os

from chassis import config
from contracts.record import Record

_DATABASE = "DATABASE_URL_"


class CtlConfig(Record):
    """Read as needed: a command asks only for what it uses."""

    @property
    def amqp_url(self) -> str:
        return config.text("AMQP_URL")

    @property
    def simulator_url(self) -> str | None:
        """Of the local stack; a production has none."""
        return os.environ.get("SIMULATOR_URL") or None

    @property
    def clock_shift_allowed(self) -> bool:
        return config.flag("CLOCK_SHIFT_ALLOWED")

    @property
    def database_urls(self) -> dict[str, str]:
        """Service name → URL, from every DATABASE_URL_<SERVICE>. Raises ConfigError when there is none."""
        urls = {
            name.removeprefix(_DATABASE).lower(): config.database_url(url)
            for name, url in sorted(os.environ.items())
            if name.startswith(_DATABASE) and url
        }
        if not urls:
            raise config.ConfigError("no DATABASE_URL_<SERVICE> is set")
        return urls
