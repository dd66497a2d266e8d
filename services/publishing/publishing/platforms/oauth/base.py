"""What linking asks of a platform: the interface every login has. Nothing is stored here."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from chassis import config
from publishing.platforms.base import Profile


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a token endpoint gives. Never logged."""

    access_token: str = field(repr=False)
    #: None: there is none, the page is linked anew when its access ends.
    refresh_token: str | None = field(default=None, repr=False)
    #: From the answer on; None: no end, or none told.
    lifetime_seconds: float | None = None
    #: What was granted; None: not told.
    scopes: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A page, profile or channel that somebody let us act for."""

    account_id: str
    profile: Profile
    #: Its own, where the platform has them.
    tokens: Tokens = field(repr=False)
    #: What the permission is known by at the platform: who gives it back gives it back for all that share it.
    grant_id: str


@dataclass(frozen=True, slots=True)
class App:
    """Our app at a platform, from the environment; without an id nobody can link there."""

    client_id: str = ""
    client_secret: str = field(default="", repr=False)

    @classmethod
    def from_env(cls, prefix: str) -> "App":
        return cls(config.text(f"{prefix}_ID", ""), config.text(f"{prefix}_SECRET", ""))


class Login(ABC):
    """One platform's. Thread-safe. Every method that calls it raises PlatformRefusal."""

    #: Asked for, each of them needed for something that is offered.
    scopes: tuple[str, ...]

    @abstractmethod
    def authorize_url(self, state: str, redirect_uri: str, verifier: str) -> str:
        """Where the person is sent."""

    @abstractmethod
    def exchange(self, code: str, redirect_uri: str, verifier: str) -> Tokens:
        """Tokens for the code that came back. A code works once."""

    @abstractmethod
    def accounts(self, tokens: Tokens) -> list[Found]:
        """What they may act for, in the platform's order."""

    def refresh(self, refresh_token: str) -> Tokens:
        """New tokens; the old refresh token may be void from now on. EXPIRED: it is over for good."""
        raise NotImplementedError

    def revoke(self, tokens: Tokens) -> bool:
        """Gives the permission back; False: the platform has no place for that."""
        return False

    def granted(self, tokens: Tokens) -> tuple[str, ...] | None:
        """What is granted now; None: as it was when it was linked."""
        return tokens.scopes
