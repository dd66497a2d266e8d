"""The interface of the platforms' logins: what linking a page asks of a platform. Nothing is stored here."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, field

from chassis import config
from publishing.platforms.base import Profile


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens and scopes that a token endpoint has issued. Never logged."""

    access_token: str = field(repr=False)
    #: None: the page must be linked again when the access token expires.
    refresh_token: str | None = field(default=None, repr=False)
    #: How long the access token is valid from the answer on; None: it does not expire, or the platform does not tell.
    lifetime_seconds: float | None = None
    #: The granted scopes; None: the platform does not tell.
    scopes: tuple[str, ...] | None = None
    #: The name of our app that they belong to (`Login.app_name`).
    app: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """An account (page, profile or channel) for which the person who logged in lets us act, with its credentials."""

    account_id: str
    profile: Profile
    #: The account's own tokens, where the platform has them; else the person's.
    tokens: Tokens = field(repr=False)
    #: Identifies the permission at the platform: revoking it ends the access to all accounts that share it.
    grant_id: str


@dataclass(frozen=True, slots=True)
class App:
    """Our app at a platform, from the environment. Without an id no page can be linked there."""

    client_id: str = ""
    client_secret: str = field(default="", repr=False)

    @classmethod
    def from_env(cls, prefix: str) -> "App":
        return cls(config.text(f"{prefix}_ID", ""), config.text(f"{prefix}_SECRET", ""))


class Login(ABC):
    """The login of one platform. Thread-safe. Every method that calls the platform raises PlatformRefusal if the
    platform refuses.
    """

    #: The scopes we ask for; each is needed by a feature.
    scopes: tuple[str, ...]
    #: The name of our app, stored with its tokens; None: the platform has one app of ours.
    app_name: str | None = None

    def of_app(self, name: str | None, granted: Collection[str] | None = None) -> "Login | None":
        """Returns the login of our app with this name; None if no such app is configured.

        Without a name, returns the login of the app that issues tokens with the `granted` scopes. If there is none,
        returns this login.
        """
        return self if name in (None, self.app_name) else None

    @abstractmethod
    def authorize_url(self, state: str, redirect_uri: str, verifier: str) -> str:
        """Returns the address of the platform's login page. `verifier` is the PKCE verifier (RFC 7636)."""

    @abstractmethod
    def exchange(self, code: str, redirect_uri: str, verifier: str) -> Tokens:
        """Exchanges the code that came back from the login for tokens. A code works once."""

    @abstractmethod
    def accounts(self, tokens: Tokens) -> list[Found]:
        """Returns the accounts for which the tokens let us act, in the platform's order."""

    def refresh(self, refresh_token: str) -> Tokens:
        """Fetches new tokens. The old refresh token may be invalid afterwards. A refusal EXPIRED means that the
        permission has ended."""
        raise NotImplementedError

    def revoke(self, tokens: Tokens) -> bool:
        """Revokes the permission. Returns False if the platform has no endpoint for that."""
        return False

    def missing(self, granted: Collection[str]) -> tuple[str, ...]:
        """Returns the scopes that our features need and that are not in `granted`."""
        return tuple(scope for scope in self.scopes if scope not in granted)

    def granted(self, tokens: Tokens) -> tuple[str, ...] | None:
        """Returns the scopes that are granted now; None if the platform does not tell."""
        return tokens.scopes
