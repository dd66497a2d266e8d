"""Page credentials at rest."""

import pytest
from cryptography.fernet import Fernet

from chassis.config import ConfigError
from publishing.credentials import UnreadableCredential, Vault


def test_a_token_is_read_with_an_older_key_and_rotated_to_the_first() -> None:
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    stored = Vault([old]).encrypt("token")
    assert "token" not in stored
    both = Vault([new, old])
    assert both.decrypt(stored) == "token"
    assert Vault([new]).decrypt(both.rotate(stored)) == "token"


def test_a_token_of_a_lost_key_is_unreadable() -> None:
    stored = Vault([Fernet.generate_key().decode()]).encrypt("token")
    with pytest.raises(UnreadableCredential):
        Vault([Fernet.generate_key().decode()]).decrypt(stored)


@pytest.mark.parametrize("keys", [(), ("short",)])
def test_a_service_without_good_keys_does_not_start(keys: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError):
        Vault(keys)
