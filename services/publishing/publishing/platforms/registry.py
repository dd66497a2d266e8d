"""The platforms' folders, found by their rows in `contracts.platforms`; and what is made of each for a process.

A row without its folder, or a folder without one of its parts, ends a process at its start.
"""

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from contracts.platforms import PLATFORMS, Platform
from publishing.platforms.base import Connector, NotConnected
from publishing.platforms.oauth.base import Login
from publishing.platforms.parts import UNITS, Parts


def _parts_of(row: Platform) -> Parts:
    """Raises ImportError, AttributeError or TypeError, which name what is not there."""
    module = f"{__package__}.{row.folder}.parts"
    parts: Parts = import_module(module).PARTS
    if parts.length is not None:
        return parts
    if row.length_unit not in UNITS:
        raise TypeError(f"{module} does not say how {row.length_unit} are counted (length)")
    return replace(parts, length=UNITS[row.length_unit])


#: By platform code.
PARTS: Mapping[str, Parts] = {code: _parts_of(row) for code, row in PLATFORMS.items()}
#: Codes of those that tell of comments by themselves, by their name in the hook's path.
PUSHED: Mapping[str, str] = {PLATFORMS[code].name: code for code, parts in PARTS.items() if parts.hooks}


def settings_from_env() -> dict[str, Any]:
    """Each platform's own, by code. Raises ConfigError."""
    return {code: parts.settings.from_env() for code, parts in PARTS.items()}


def default_settings(**given: Any) -> dict[str, Any]:
    """The same without an environment, but for those that are given."""
    return {code: given.get(code) or parts.settings() for code, parts in PARTS.items()}


class Registry:
    """The connectors of this process, made once; each keeps its own pool of connections."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._connectors = {code: parts.connector(settings[code]) for code, parts in PARTS.items()}

    def connector(self, platform_code: str) -> Connector:
        """Raises NotConnected for what a release with more platforms has left behind."""
        if platform_code not in self._connectors:
            raise NotConnected(platform_code, platform_code)
        return self._connectors[platform_code]


def logins(settings: Mapping[str, Any]) -> dict[str, Login]:
    """By platform code, those where we have an app."""
    return {
        code: parts.login(settings[code]) for code, parts in PARTS.items() if settings[code].app.client_id
    }
