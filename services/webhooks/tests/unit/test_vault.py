"""Secrets at rest."""

import pytest
from cryptography.fernet import Fernet

from chassis.config import ConfigError
from webhooks.security.vault import UnreadableSecret, Vault

OLD, NEW = Fernet.generate_key().decode(), Fernet.generate_key().decode()


def test_what_is_stored_does_not_show_the_secret() -> None:
    stored = Vault([OLD]).encrypt("whsec_1")
    assert "whsec_1" not in stored
    assert Vault([OLD]).decrypt(stored) == "whsec_1"


def test_a_new_key_in_front_encrypts_and_the_old_one_still_reads() -> None:
    both = Vault([NEW, OLD])
    assert both.decrypt(Vault([OLD]).encrypt("whsec_1")) == "whsec_1"
    assert Vault([NEW]).decrypt(both.encrypt("whsec_2")) == "whsec_2"


def test_a_secret_of_a_key_that_is_gone_is_not_readable() -> None:
    stored = Vault([OLD]).encrypt("whsec_1")
    with pytest.raises(UnreadableSecret):
        Vault([NEW]).decrypt(stored)


@pytest.mark.parametrize("keys", [[], ["short"], [OLD, "short"]])
def test_without_good_keys_the_service_does_not_start(keys: list[str]) -> None:
    with pytest.raises(ConfigError):
        Vault(keys)
