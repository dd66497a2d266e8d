"""Settings with which the service refuses to start."""

import pytest

from accounts.config import AccountsConfig
from chassis.config import ConfigError


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "SIGNUPS",
        "SMTP_HOST",
        "SMTP_PORT",
        "SMTP_SECURITY",
        "SMTP_USERNAME",
        "MAIL_FROM",
        "PUBLIC_BASE_URL",
        "DASHBOARD_URL",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TOKEN_SECRET", "x" * 32)


def test_unless_it_is_told_otherwise_sign_up_needs_an_invite_and_no_mail_is_sent() -> None:
    config = AccountsConfig.from_env()
    assert (config.signups, config.smtp) == ("invite", None)


def test_a_mail_server_is_spoken_to_over_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMTP_HOST", "mail.example.com")
    monkeypatch.setenv("MAIL_FROM", "no-reply@example.com")
    smtp = AccountsConfig.from_env().smtp
    assert smtp is not None
    assert (smtp.security, smtp.port) == ("starttls", 587)


def test_links_in_mails_lead_to_the_dashboard_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert AccountsConfig.from_env().link_prefix == "http://localhost:8000/auth"
    monkeypatch.setenv("DASHBOARD_URL", "https://posthaste.example.com/")
    assert AccountsConfig.from_env().link_prefix == "https://posthaste.example.com"


@pytest.mark.parametrize(
    "env",
    [
        {"TOKEN_SECRET": "short"},
        {"SIGNUPS": "maybe"},
        {"SMTP_SECURITY": "ssl"},
        {"SMTP_HOST": "mail.example.com"},
        {
            "SMTP_HOST": "mail.example.com",
            "MAIL_FROM": "a@example.com",
            "SMTP_USERNAME": "u",
            "SMTP_SECURITY": "none",
        },
        {"PUBLIC_BASE_URL": "example.com"},
        {"DASHBOARD_URL": "example.com"},
    ],
    ids=["secret", "signups", "security", "no sender", "password in clear", "address", "dashboard"],
)
def test_settings_that_make_no_sense_stop_the_start(
    monkeypatch: pytest.MonkeyPatch, env: dict[str, str]
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError):
        AccountsConfig.from_env()
