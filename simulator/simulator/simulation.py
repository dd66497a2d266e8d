"""The parts of one simulator, as its routes get them."""

from dataclasses import dataclass, field

from simulator.accounts import Accounts
from simulator.clock import Clock
from simulator.config import Settings
from simulator.faults import Faults
from simulator.fetching import Fetcher
from simulator.world import World


@dataclass(slots=True)
class Simulation:
    """One running stand-in; nothing here is shared between two of them."""

    settings: Settings = field(default_factory=Settings)
    clock: Clock = field(default_factory=Clock)
    world: World = field(default_factory=World)
    accounts: Accounts = field(init=False)
    faults: Faults = field(init=False)
    fetcher: Fetcher = field(init=False)

    def __post_init__(self) -> None:
        self.accounts = Accounts(self.settings.seed)
        self.faults = Faults(self.settings.hang_seconds, self.settings.slow_seconds)
        self.fetcher = Fetcher(self.settings)
