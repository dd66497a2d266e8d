"""Password hashes that cost nothing: these tests make hundreds, and a real one takes 50 ms of CPU. The real parameters
are tested in `unit` and by the running service.
"""

from collections.abc import Iterator

import pytest
from argon2 import PasswordHasher

from accounts.users import passwords


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(passwords, "_HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    passwords._nobodys_hash.cache_clear()
    yield
    passwords._nobodys_hash.cache_clear()
