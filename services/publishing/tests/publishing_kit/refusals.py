"""Catches the error with which a call is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from contracts.errors import ApiError


def refused(call: Callable[..., Any], *args: Any, **fields: Any) -> ApiError:
    """Runs a call and returns the ApiError that it raises. Fails the test if it raises none."""
    with pytest.raises(ApiError) as refusal:
        call(*args, **fields)
    return refusal.value
