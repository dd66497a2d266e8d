"""Finds each platform's folder by its row in `contracts.platforms`, and makes its connector and login.

A row without a folder, or a folder without a required part, stops the process at start.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from contracts.platforms import PLATFORMS, Platform
from publishing.platforms.base import Connector
from publishing.platforms.oauth.base import Login
from publishing.platforms.plugin import UNITS, PlatformPlugin


def _plugin_of(row: Platform) -> PlatformPlugin:
    """Imports the `PLUGIN` of a platform's folder and completes it.

    If a part is missing, raises ImportError, AttributeError or TypeError, which name the part.
    """
    module = f"{__package__}.{row.folder}.plugin"
    plugin: PlatformPlugin = import_module(module).PLUGIN
    if plugin.length is not None:
        return plugin
    if row.length_unit not in UNITS:
        raise TypeError(f"{module} does not say how {row.length_unit} are counted (length)")
    return replace(plugin, length=UNITS[row.length_unit])


#: Platform code → the parts of the platform.
PLUGINS: Mapping[str, PlatformPlugin] = {code: _plugin_of(row) for code, row in PLATFORMS.items()}
#: Codes of the platforms with comment webhooks, by their name in the path of /hooks.
PUSHED: Mapping[str, str] = {PLATFORMS[code].name: code for code, plugin in PLUGINS.items() if plugin.hooks}


def settings_from_env() -> dict[str, Any]:
    """Reads each platform's settings from the environment, by the platform's code. Raises ConfigError if one is
    malformed."""
    return {code: plugin.settings.from_env() for code, plugin in PLUGINS.items()}


def default_settings(**given: Any) -> dict[str, Any]:
    """Returns each platform's default settings by the platform's code.

    For a platform in `given`, returns the settings that are given there.
    """
    return {code: given.get(code) or plugin.settings() for code, plugin in PLUGINS.items()}


def connectors(settings: Mapping[str, Any]) -> dict[str, Connector]:
    """Makes the connector of each platform, by code. Call it once in a process: each connector has its own
    connections."""
    return {code: plugin.connector(settings[code]) for code, plugin in PLUGINS.items()}


def logins(settings: Mapping[str, Any]) -> dict[str, Login]:
    """Makes the login of each platform, by code. Platforms whose settings name no app are left out."""
    return {
        code: plugin.login(settings[code]) for code, plugin in PLUGINS.items() if settings[code].app.client_id
    }


def may_comment(platform: str, granted: Collection[str] | None) -> bool | None:
    """Whether a token with these scopes may write comments; None if the scopes or the platform are not known."""
    plugin = PLUGINS.get(platform)
    if granted is None or plugin is None:
        return None
    return PLATFORMS[platform].comments and (
        not plugin.comment_scopes or not set(plugin.comment_scopes).isdisjoint(granted)
    )
