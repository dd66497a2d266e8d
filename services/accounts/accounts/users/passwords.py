"""Hashes passwords with argon2id in real threads (not green ones), two at a time."""

import secrets
from collections.abc import Callable
from functools import cache
from typing import ParamSpec, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

from chassis.runtime.limiter import Limiter
from chassis.service import offload
from contracts.errors import SERVICE_UNAVAILABLE, ApiError

P = ParamSpec("P")
T = TypeVar("T")

#: 19 MiB, 2 passes, 1 lane: the OWASP Password Storage Cheat Sheet's parameters for argon2id.
_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)

#: Two hashes at once bound the memory of a burst of sign-ups to 38 MiB. A call waits for half of a request's deadline
#: of 10 s before it is told to retry.
_LIMITER = Limiter(2, wait_seconds=5.0, refusal=lambda: ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=2))


def hash_password(password: str) -> str:
    """Returns the hash with its parameters and salt. Raises SERVICE_UNAVAILABLE when too many calls wait."""
    return _in_turn(_HASHER.hash, password)


def matches(password_hash: str, password: str) -> bool:
    """Whether the password matches the hash. Raises SERVICE_UNAVAILABLE when too many calls wait."""
    try:
        return _in_turn(_HASHER.verify, password_hash, password)
    except VerifyMismatchError:
        return False


def matches_somebodys(password_hash: str | None, password: str) -> bool:
    """Whether the password matches the hash of an account. If there is no hash, returns False after the same time, so
    that the time does not reveal whether there is an account.
    """
    return matches(password_hash or _nobodys_hash(), password) and password_hash is not None


@cache
def _nobodys_hash() -> str:
    return _HASHER.hash(secrets.token_hex())


def _in_turn(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    with _LIMITER.slot():
        return offload(function, *args, **kwargs)
