"""Settings of the accounts service; the only module that reads its environment."""

from urllib.parse import urlsplit

from chassis import config, tokens
from contracts.record import Record

#: A shorter secret could be brute-forced from one known token.
MIN_SECRET_LENGTH = 32
#: open: anybody may sign up and verifies the address by mail. invite: only with a code from the operator. off: nobody.
SIGNUPS = ("open", "invite", "off")
#: How the connection to the mail server is encrypted, and the default port (RFC 8314, RFC 6409).
SMTP_PORTS = {"starttls": 587, "tls": 465, "none": 25}


class SmtpConfig(Record):
    """The operator's mail server."""

    host: str
    port: int
    #: starttls, tls or none
    security: str
    #: Empty: no login.
    username: str
    password: str
    #: The From address, optionally with a name: `Posthaste <no-reply@example.com>`.
    sender: str


class AccountsConfig(Record):
    #: Key from which sandbox tokens, and the tokens of a repeatable operation, are derived (see derived_secrets.py).
    token_secret: str
    #: Prefix of older live tokens that are still accepted (spec "Authentication" 3).
    legacy_token_prefix: str
    #: open, invite or off
    signups: str = "invite"
    #: Sign-up attempts per network and hour; 0: no limit. 10 is enough for an office behind one address, and too few
    #: to test a list of e-mail addresses.
    signups_per_hour: int = 10
    #: Sign-ins and requests for reset links per network and hour; 0: no limit. Sessions last, so 100 is enough for a
    #: large office behind one address.
    logins_per_hour: int = 100
    #: The public address of the API, without a trailing slash.
    public_url: str = "http://localhost:8000"
    #: The public address of the dashboard; empty: there is none.
    dashboard_url: str = ""
    #: None: no mail is sent; the operator verifies addresses.
    smtp: SmtpConfig | None = None

    @property
    def link_prefix(self) -> str:
        """The beginning of links in mails: the dashboard's address or, without a dashboard, the address of the API's
        own web pages."""
        return self.dashboard_url or f"{self.public_url}/auth"

    @classmethod
    def from_env(cls) -> "AccountsConfig":
        """Reads the settings from the environment. Raises ConfigError when one is missing or malformed."""
        secret = config.text("TOKEN_SECRET")
        if len(secret) < MIN_SECRET_LENGTH:
            raise config.ConfigError(f"TOKEN_SECRET must have at least {MIN_SECRET_LENGTH} characters")
        return cls(
            token_secret=secret,
            legacy_token_prefix=config.text("LEGACY_TOKEN_PREFIX", tokens.DEFAULT_LEGACY_PREFIX),
            signups=_one_of("SIGNUPS", SIGNUPS, "invite"),
            signups_per_hour=config.integer("SIGNUPS_PER_HOUR", 10),
            logins_per_hour=config.integer("LOGINS_PER_HOUR", 100),
            public_url=_address("PUBLIC_BASE_URL", "http://localhost:8000"),
            dashboard_url=_address("DASHBOARD_URL", ""),
            smtp=_smtp(),
        )


def _address(name: str, default: str) -> str:
    url = config.text(name, default).rstrip("/")
    if url and (urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname):
        raise config.ConfigError(f"{name} must be an http or https address, not {url!r}")
    return url


def _smtp() -> SmtpConfig | None:
    security = _one_of("SMTP_SECURITY", tuple(SMTP_PORTS), "starttls")
    smtp = SmtpConfig(
        host=config.text("SMTP_HOST", ""),
        port=config.integer("SMTP_PORT", SMTP_PORTS[security]),
        security=security,
        username=config.text("SMTP_USERNAME", ""),
        password=config.text("SMTP_PASSWORD", ""),
        sender=config.text("MAIL_FROM", ""),
    )
    if not smtp.host:
        return None
    if not smtp.sender:
        raise config.ConfigError(
            "SMTP_HOST is set but MAIL_FROM is not: set MAIL_FROM to the sender's address"
        )
    if smtp.username and security == "none":
        raise config.ConfigError(
            "SMTP_SECURITY=none would send SMTP_PASSWORD unencrypted: use starttls or tls"
        )
    return smtp


def _one_of(name: str, choices: tuple[str, ...], default: str) -> str:
    value = config.text(name, default)
    if value not in choices:
        raise config.ConfigError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    return value
