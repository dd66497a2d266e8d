"""The quota service's own settings; the only reader of its environment."""

from chassis import config
from contracts.record import Record


class QuotaConfig(Record):
    """Settings beyond those every service shares."""

    #: Where an exhausted sandbox token sends its owner. Our choice.
    upgrade_url: str

    @classmethod
    def from_env(cls) -> "QuotaConfig":
        return cls(upgrade_url=config.text("UPGRADE_URL", "https://posthaste.test/pricing"))
