"""Page credentials at rest, and signatures."""

from datetime import UTC, datetime

import pytest
from cryptography.fernet import Fernet

from chassis.config import ConfigError
from publishing.credentials import Credentials, UnreadableCredential, Vault

KEY = Fernet.generate_key().decode()


def test_a_token_is_read_with_an_older_key_and_rotated_to_the_first() -> None:
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    stored = Vault([old]).encrypt("token")
    assert "token" not in stored
    both = Vault([new, old])
    assert both.decrypt(stored) == "token"
    rotated = both.rotate(stored)
    assert rotated is not None
    assert Vault([new]).decrypt(rotated) == "token"
    assert both.rotate(rotated) is None


def test_a_token_of_a_lost_key_is_unreadable() -> None:
    stored = Vault([Fernet.generate_key().decode()]).encrypt("token")
    with pytest.raises(UnreadableCredential):
        Vault([Fernet.generate_key().decode()]).decrypt(stored)


@pytest.mark.parametrize("keys", [(), ("short",)])
def test_a_service_without_good_keys_does_not_start(keys: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError):
        Vault(keys)


def test_a_bare_token_of_an_earlier_release_is_read() -> None:
    vault = Vault([KEY])
    assert vault.credentials(vault.encrypt("EAAtoken")) == Credentials(access_token="EAAtoken")


def test_credentials_come_back_as_they_were_and_show_nothing() -> None:
    vault = Vault([KEY])
    kept = Credentials(
        access_token="a", refresh_token="r", scopes=("x",), expires_at=datetime(2027, 1, 1, tzinfo=UTC)
    )
    stored = vault.seal(kept)
    assert vault.credentials(stored) == kept
    assert repr(kept) == "Credentials(…)"
    assert "refresh" not in stored


def test_what_is_signed_is_known_again_with_any_key_and_only_as_it_was() -> None:
    old, new = Vault([KEY]), Vault([Fernet.generate_key().decode(), KEY])
    signature = old.sign("lnk_1")
    assert len(signature) == 43
    assert old.is_signed("lnk_1", signature)
    assert new.is_signed("lnk_1", signature)
    assert not new.is_signed("lnk_2", signature)
    assert not new.is_signed("lnk_1", "")
    assert not new.is_signed("lnk_1", "ä" + signature[1:])
    assert not Vault([Fernet.generate_key().decode()]).is_signed("lnk_1", signature)
