"""The encryption of stored page credentials, and signatures."""

from datetime import UTC, datetime

from cryptography.fernet import Fernet

from chassis.vault import Vault
from publishing.records import Credentials

KEY = Fernet.generate_key().decode()


def test_a_bare_token_is_read() -> None:
    vault = Vault([KEY])
    assert Credentials.opened(vault, vault.encrypt("EAAtoken")) == Credentials(access_token="EAAtoken")


def test_credentials_come_back_as_they_were_and_show_nothing() -> None:
    vault = Vault([KEY])
    kept = Credentials(
        access_token="a", refresh_token="r", scopes=("x",), expires_at=datetime(2027, 1, 1, tzinfo=UTC)
    )
    stored = vault.seal(kept)
    assert Credentials.opened(vault, stored) == kept
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
