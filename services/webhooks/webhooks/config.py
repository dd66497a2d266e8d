"""The settings of the webhooks service. Only this module reads its environment."""

from chassis import config
from contracts.record import Record
from webhooks.security import PrivateReceivers, parse_private_receivers

#: Spec "Events", Delivery rules 2.
_RETRIES = "30,120,600,1800,7200"


class Settings(Record):
    """The settings of one process. Times in seconds, sizes in bytes. README.md has the table of variables."""

    secret_keys: tuple[str, ...]
    #: Private networks that webhook URLs may lead to, by account; none by default.
    private_receivers: PrivateReceivers
    #: Waits between attempts; there is one attempt more than waits.
    retry_seconds: tuple[float, ...]
    #: Time limit of a whole attempt (spec "Request field limits").
    timeout_seconds: float
    #: Concurrent attempts in this process, each with a green thread and a socket.
    attempts_at_once: int
    #: Deliveries loaded for one endpoint at a time: a few round trips of a busy endpoint.
    taken_ahead: int
    #: An endpoint queue is free this long after its process stopped renewing it: deliveries of a dead process wait no
    #: longer.
    lease_seconds: float
    #: Spec "Events", Delivery rules 4.
    log_kept_days: int

    @classmethod
    def from_env(cls) -> "Settings":
        """Reads the settings from the environment. Raises ConfigError when one is missing or malformed."""
        try:
            retry_seconds = tuple(float(item) for item in config.items("WEBHOOK_RETRY_SECONDS", _RETRIES))
        except ValueError as error:
            raise config.ConfigError(f"WEBHOOK_RETRY_SECONDS: {error}") from None
        try:
            allowed = parse_private_receivers(config.items("WEBHOOK_ALLOWED_CIDRS"))
        except ValueError as error:
            raise config.ConfigError(f"WEBHOOK_ALLOWED_CIDRS: {error}") from None
        return cls(
            secret_keys=config.vault_keys("WEBHOOK_SECRET_KEYS"),
            private_receivers=allowed,
            retry_seconds=retry_seconds,
            timeout_seconds=config.number("WEBHOOK_TIMEOUT_SECONDS", 10),
            attempts_at_once=config.integer("WEBHOOK_ATTEMPTS_AT_ONCE", 512),
            taken_ahead=config.integer("WEBHOOK_TAKEN_AHEAD", 96),
            lease_seconds=config.number("LEASE_SECONDS", 8),
            log_kept_days=config.integer("WEBHOOK_LOG_DAYS", 30),
        )
