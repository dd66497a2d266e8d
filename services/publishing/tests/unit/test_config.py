"""Settings that the service refuses to start with."""

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
