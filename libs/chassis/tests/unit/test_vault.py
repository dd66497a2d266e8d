"""The encryption of stored secrets."""

import pytest
from cryptography.fernet import Fernet

from chassis import vault
from chassis.vault import UnreadableSecret, Vault
from contracts.keys import KeysRotated

OLD, NEW = Fernet.generate_key().decode(), Fernet.generate_key().decode()


def test_what_is_stored_does_not_show_the_secret() -> None:
    stored = Vault([OLD]).encrypt("secret")
    assert "secret" not in stored
    assert Vault([OLD]).decrypt(stored) == "secret"


def test_a_new_key_in_front_encrypts_and_the_old_one_still_reads() -> None:
    both = Vault([NEW, OLD])
    assert both.decrypt(Vault([OLD]).encrypt("first")) == "first"
    assert Vault([NEW]).decrypt(both.encrypt("second")) == "second"


@pytest.mark.parametrize("cached", [0, 10])
def test_a_secret_of_a_key_that_is_gone_is_not_readable(cached: int) -> None:
    stored = Vault([OLD]).encrypt("secret")
    with pytest.raises(UnreadableSecret):
        Vault([NEW], cached=cached).decrypt(stored)


def test_a_secret_is_rotated_to_the_first_key_once() -> None:
    both = Vault([NEW, OLD])
    rotated = both.rotate(Vault([OLD]).encrypt("secret"))
    assert rotated is not None
    assert Vault([NEW]).decrypt(rotated) == "secret"
    assert both.rotate(rotated) is None


def test_a_batch_counts_what_was_stored_and_names_what_no_key_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vault, "ROTATED_AT_ONCE", 4)
    gone = Fernet.generate_key().decode()
    batch = [
        ("a", Vault([OLD]).encrypt("rotated")),
        ("b", Vault([OLD]).encrypt("changed meanwhile")),
        ("c", Vault([NEW]).encrypt("rotated before")),
        ("d", Vault([gone]).encrypt("lost")),
    ]
    stored = {}

    def replace(id_: str, before: str, fresh: str) -> bool:
        assert before == dict(batch)[id_]
        stored[id_] = Vault([NEW]).decrypt(fresh)
        return id_ != "b"

    answer = Vault([NEW, OLD]).rotate_batch(batch, replace)
    assert answer == KeysRotated(rotated=1, unreadable=("d",), next="d")
    assert stored == {"a": "rotated", "b": "changed meanwhile"}
    assert Vault([NEW, OLD]).rotate_batch(batch[:1], replace) == KeysRotated(rotated=1)
