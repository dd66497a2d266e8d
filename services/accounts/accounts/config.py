"""The settings of the accounts service: the only reader of its environment."""

from chassis import config, tokens
from contracts.record import Record

#: Shorter secrets could be guessed from a token. Our choice.
MIN_SECRET_LENGTH = 32


class AccountsConfig(Record):
    #: Key from which sandbox tokens, and the tokens of a repeatable operation, are derived (see minting.py).
    token_secret: str
    #: Prefix of older live tokens that are still accepted (spec "Authentication" 3).
    legacy_token_prefix: str

    @classmethod
    def from_env(cls) -> "AccountsConfig":
        """Raises ConfigError when TOKEN_SECRET is missing or too short."""
        secret = config.text("TOKEN_SECRET")
        if len(secret) < MIN_SECRET_LENGTH:
            raise config.ConfigError(f"TOKEN_SECRET must have at least {MIN_SECRET_LENGTH} characters")
        return cls(
            token_secret=secret,
            legacy_token_prefix=config.text("LEGACY_TOKEN_PREFIX", tokens.DEFAULT_LEGACY_PREFIX),
        )
