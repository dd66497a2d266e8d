"""Who is the operator."""

import pytest

from contracts.caller import Caller, operator
from contracts.errors import ApiError


def test_a_token_with_every_scope_is_not_the_operator() -> None:
    operator().check_operator()
    with pytest.raises(ApiError) as caught:
        Caller(account_id="usr_1", user_id="usr_1", scopes=("*",)).check_operator()
    assert caught.value.code == "MISSING_SCOPE"
    assert caught.value.extras == {"required_scope": "operator", "your_scopes": ["*"]}
