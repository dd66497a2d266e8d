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
    """Returns the `PLUGIN` of a platform's folder. If the plugin has no function `length`, adds the function in `UNITS`
    that counts the row's `length_unit`.

    Raises ImportError if the folder has no `plugin.py`, and AttributeError if that has no `PLUGIN`. Raises TypeError if
    `PLUGIN` lacks a required field, or if `UNITS` has no function for the row's unit.
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
#: Name of a platform with comment webhooks, as in the path of /hooks → its code.
PUSHED: Mapping[str, str] = {PLATFORMS[code].name: code for code, plugin in PLUGINS.items() if plugin.hooks}


def settings_from_env() -> dict[str, Any]:
    """Reads each platform's settings from the environment. Returns platform code → settings. Raises ConfigError if one
    is malformed."""
    return {code: plugin.settings.from_env() for code, plugin in PLUGINS.items()}


def default_settings(**given: Any) -> dict[str, Any]:
    """Returns platform code → settings: those in `given`, otherwise the platform's defaults."""
    return {code: given.get(code) or plugin.settings() for code, plugin in PLUGINS.items()}


def connectors(settings: Mapping[str, Any]) -> dict[str, Connector]:
    """Makes the connectors. Returns platform code → connector. Call it once in a process: each connector has its own
    connections."""
    return {code: plugin.connector(settings[code]) for code, plugin in PLUGINS.items()}


def logins(settings: Mapping[str, Any]) -> dict[str, Login]:
    """Makes the logins. Returns platform code → login, without the platforms whose settings name no app."""
    return {
        code: plugin.login(settings[code]) for code, plugin in PLUGINS.items() if settings[code].app.client_id
    }


def may_comment(platform: str, granted: Collection[str] | None) -> bool | None:
    """Whether a token with these scopes may write comments. None if the scopes are not known, or if `platform` is not
    the code of a platform."""
    plugin = PLUGINS.get(platform)
    if granted is None or plugin is None:
        return None
    return PLATFORMS[platform].comments and (
        not plugin.comment_scopes or not set(plugin.comment_scopes).isdisjoint(granted)
    )
