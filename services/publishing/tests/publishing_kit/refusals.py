"""The error with which a call was refused."""

from collections.abc import Callable
from typing import Any

import pytest

from contracts.errors import ApiError


def refused(call: Callable[..., Any], *args: Any, **fields: Any) -> ApiError:
    """Returns the error that the call raises. Fails the test if it raises none."""
    with pytest.raises(ApiError) as refusal:
        call(*args, **fields)
    return refusal.value
