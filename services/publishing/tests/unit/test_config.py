"""Settings with which the service refuses to start."""

import pytest
from cryptography.fernet import Fernet

from chassis.config import ConfigError
from publishing.config import Settings


def test_a_time_out_that_outlasts_the_leases_of_calls_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREDENTIAL_KEYS", Fernet.generate_key().decode())
    monkeypatch.setenv("PLATFORM_TIMEOUT_SECONDS", "30")
    assert Settings.from_env().platforms["FB"].read_timeout_seconds == 30
    monkeypatch.setenv("PLATFORM_TIMEOUT_SECONDS", "31")
    with pytest.raises(ConfigError, match="PLATFORM_TIMEOUT_SECONDS must be at most 30"):
        Settings.from_env()


def test_addresses_to_come_back_to_are_read_and_a_wrong_one_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CREDENTIAL_KEYS", Fernet.generate_key().decode())
    monkeypatch.setenv("CONNECT_RETURN_URLS", "")
    assert Settings.from_env().return_urls == frozenset()
    monkeypatch.setenv("CONNECT_RETURN_URLS", "*=https://any.example/back, usr_a=https://app.example/linked")
    assert Settings.from_env().return_urls == {
        ("*", "https://any.example/back"),
        ("usr_a", "https://app.example/linked"),
    }
    monkeypatch.setenv("CONNECT_RETURN_URLS", "*=http://any.example/back")
    with pytest.raises(ConfigError, match="CONNECT_RETURN_URLS"):
        Settings.from_env()
