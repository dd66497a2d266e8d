"""The quota service's own settings; the only reader of its environment."""

from datetime import timedelta

from chassis import config
from contracts.record import Record


class QuotaConfig(Record):
    """Settings beyond those every service shares."""

    #: Where an exhausted sandbox token sends its owner. Our choice.
    upgrade_url: str
    #: How old a charge is before publishing is asked what its call has made: three times the longest time that the
    #: gateway waits for an answer (60 s). A call that stores its post later than that is refused, and may be repeated.
    unconfirmed_after: timedelta = timedelta(minutes=3)

    @classmethod
    def from_env(cls) -> "QuotaConfig":
        return cls(
            upgrade_url=config.text("UPGRADE_URL", "https://posthaste.test/pricing"),
            unconfirmed_after=timedelta(seconds=config.number("UNCONFIRMED_AFTER_SECONDS", 180.0)),
        )
