"""Every platform in the table has its folder, and a folder that lacks a part is reported."""

import sys
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from contracts.platforms import PLATFORMS
from publishing import platforms
from publishing.platforms import registry
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.plugin import PlatformPlugin
from publishing.platforms.registry import PLUGINS, default_settings

#: Folders of what platforms share.
SHARED = {"meta", "oauth", "uploads"}


def test_every_platform_has_a_connector_of_its_own() -> None:
    found = registry.connectors(default_settings())
    assert {*found} == {*PLATFORMS}
    assert len({type(connector) for connector in found.values()}) == len(PLATFORMS)


def test_every_folder_has_a_row() -> None:
    folders = {path.parent.name for path in Path(platforms.__file__).parent.glob("*/__init__.py")}
    assert folders - SHARED == {row.folder for row in PLATFORMS.values()}


def test_a_row_without_its_folder_is_named() -> None:
    row = msgspec.structs.replace(PLATFORMS["TW"], title="Nowhere")
    with pytest.raises(ModuleNotFoundError, match=r"publishing\.platforms\.nowhere"):
        registry._plugin_of(row)


def test_a_folder_without_one_of_its_parts_is_told_which() -> None:
    with pytest.raises(TypeError, match="'login'"):
        PlatformPlugin(settings=MetaSettings, connector=PLUGINS["FB"].connector)  # type: ignore[call-arg]


def test_a_unit_that_nobody_knows_has_to_be_counted_by_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("publishing.platforms.made_up.plugin")
    module.PLUGIN = PlatformPlugin(
        settings=MetaSettings, connector=PLUGINS["FB"].connector, login=PLUGINS["FB"].login
    )  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "publishing.platforms.made_up", ModuleType("made_up"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    row = msgspec.structs.replace(PLATFORMS["FB"], title="Made Up")
    assert registry._plugin_of(row).length is len
    with pytest.raises(TypeError, match="stanzas"):
        registry._plugin_of(msgspec.structs.replace(row, length_unit="stanzas"))


def test_secrets_do_not_show() -> None:
    assert "hush" not in repr(MetaSettings(app_secret="hush"))
    assert "hush" not in repr(MetaSettings(app_secret="hush").app)
