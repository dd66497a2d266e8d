"""Settings of the quota service; the only module that reads its environment."""

from datetime import timedelta

from chassis import config
from contracts.record import Record


class QuotaConfig(Record):
    #: The `upgrade_url` in SANDBOX_EXHAUSTED.
    upgrade_url: str
    #: The age of a charge at which the publishing service is asked about its effect: three times the longest deadline
    #: of a call to that service (60 s). A call that tries to store its post later is refused and may be repeated.
    unconfirmed_after: timedelta = timedelta(minutes=3)

    @classmethod
    def from_env(cls) -> "QuotaConfig":
        return cls(
            upgrade_url=config.text("UPGRADE_URL", config.page_url("billing", "billing")),
            unconfirmed_after=timedelta(seconds=config.number("UNCONFIRMED_AFTER_SECONDS", 180.0)),
        )
