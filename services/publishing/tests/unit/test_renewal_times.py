"""When credentials are renewed: before they expire, but not in the first half of their lifetime."""

from datetime import UTC, datetime, timedelta

import pytest

from publishing.pages.renewal import renew_at
from publishing.platforms.oauth.base import Tokens

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("lifetime", "after"),
    [(7_200, 6_480), (3_600, 3_000), (60 * 86_400, 54 * 86_400), (600, 300), (1, 0.5)],
)
def test_a_tenth_before_the_end_ten_minutes_at_least(lifetime: float, after: float) -> None:
    tokens = Tokens("a", "r", lifetime)
    assert renew_at(NOW, tokens) == NOW + timedelta(seconds=after)


@pytest.mark.parametrize("tokens", [Tokens("a"), Tokens("a", None, 7_200), Tokens("a", "r", None)])
def test_what_cannot_be_renewed_or_has_no_end_never_is(tokens: Tokens) -> None:
    assert renew_at(NOW, tokens) is None
