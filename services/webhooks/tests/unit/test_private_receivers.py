"""WEBHOOK_ALLOWED_CIDRS: which account may reach which network, and the messages for malformed entries."""

import pytest
from cryptography.fernet import Fernet

from chassis.config import ConfigError
from chassis.http.addresses import is_allowed
from webhooks.config import Settings
from webhooks.security import PrivateReceivers, parse_private_receivers


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("WEBHOOK_SECRET_KEYS", Fernet.generate_key().decode())
    return monkeypatch


def test_an_account_may_reach_its_own_networks_and_those_of_every_account() -> None:
    receivers = parse_private_receivers(
        ["usr_a=10.0.0.0/8:8080", "usr_a=fd00::/8:443", "*=192.168.7.7/32:9000-9010"]
    )
    reached = {
        account: [
            is_allowed(address, port, receivers.of(account))
            for address, port in (
                ("10.1.2.3", 8080),
                ("fd00::1", 443),
                ("192.168.7.7", 9005),
                ("10.1.2.3", 443),
            )
        ]
        for account in ("usr_a", "usr_b")
    }
    assert reached == {"usr_a": [True, True, True, False], "usr_b": [False, False, True, False]}


def test_without_the_setting_nobody_reaches_a_private_network(environment: pytest.MonkeyPatch) -> None:
    assert Settings.from_env().private_receivers == PrivateReceivers()
    assert PrivateReceivers().of("usr_a") == ()


def test_the_settings_hold_what_the_variable_says(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("WEBHOOK_ALLOWED_CIDRS", "usr_a=10.0.0.0/8:8080, *=127.0.0.1/32:1-65535")
    receivers = Settings.from_env().private_receivers
    assert [len(receivers.of(account)) for account in ("usr_a", "usr_b")] == [2, 1]


def test_an_entry_of_the_form_before_is_refused_at_the_start_with_the_line_to_write_instead(
    environment: pytest.MonkeyPatch,
) -> None:
    environment.setenv("WEBHOOK_ALLOWED_CIDRS", "10.0.0.7,fd00::/8,10.1.0.0/16:80")
    with pytest.raises(ConfigError) as refused:
        Settings.from_env()
    said = str(refused.value)
    assert said.startswith(
        "WEBHOOK_ALLOWED_CIDRS: 10.0.0.7, fd00::/8, 10.1.0.0/16:80: an entry must name an account"
    )
    assert "WEBHOOK_ALLOWED_CIDRS=usr_…=10.0.0.7/32:8080,usr_…=fd00::/8:8080,usr_…=10.1.0.0/16:8080." in said
    line = said[said.rindex("WEBHOOK_ALLOWED_CIDRS=") :].removeprefix("WEBHOOK_ALLOWED_CIDRS=")
    environment.setenv("WEBHOOK_ALLOWED_CIDRS", line)
    assert len(Settings.from_env().private_receivers.of("usr_a")) == 3


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("usr_a=10.0.0.0/8", "with a port"), ("usr_a=10.0.0.0/8:", "with a port"), ("usr_a=10.0.0.0:80", "with a port"),
        ("=10.0.0.0/8:80", "account"), ("brd_a=10.0.0.0/8:80", "account"), ("usr_*=10.0.0.0/8:80", "account"),
        ("usr_a=10.0.0.1/8:80", "host bits"), ("*=10.0.0.0/8:99999", "ports must be"),
        ("10.0.0.0/8:80", "account and a port"),
    ],
)  # fmt: skip
def test_any_other_wrong_entry_is_refused_at_the_start_with_its_reason(
    entry: str, reason: str, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("WEBHOOK_ALLOWED_CIDRS", f"usr_z=10.9.0.0/16:80,{entry}")
    with pytest.raises(ConfigError, match=f"^WEBHOOK_ALLOWED_CIDRS: .*{reason}"):
        Settings.from_env()
