"""Which platforms have a connector."""

import pytest

from contracts.platforms import PLATFORMS
from publishing.platforms.base import NotConnected
from publishing.platforms.meta import MetaSettings
from publishing.platforms.registry import ROWS, PlatformSettings, Registry


def test_a_platform_has_a_connector_or_says_by_name_that_it_has_none() -> None:
    registry = Registry(PlatformSettings())
    for code, platform in PLATFORMS.items():
        if code in ROWS:
            assert registry.connector(code) is registry.connector(code)
        else:
            with pytest.raises(NotConnected, match=platform.name):
                registry.connector(code)
    assert set(ROWS) == {"FB", "IG", "LN", "TT", "TW", "YT"}


def test_secrets_do_not_show() -> None:
    assert "hush" not in repr(MetaSettings(app_secret="hush"))
