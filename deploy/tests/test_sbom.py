"""deploy/images/sbom.py: the bill of materials lists all installed packages in the form that scanners read."""

import importlib.util
import json
from datetime import UTC, datetime
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

import pytest

from local.paths import ROOT
from local.supply_chain import sbom

OS_RELEASE = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\n'
STATUS = """\
Package: libssl3
Status: install ok installed
Architecture: amd64
Source: openssl (3.0.17-1)
Version: 3.0.17-1~deb12u2
Depends: libc6 (>= 2.34)

Package: libc6
Status: install ok installed
Architecture: amd64
Source: glibc
Version: 2.36-9+deb12u10
Depends: libgcc-s1 | not-there, libcrypt1:any

Package: netbase
Status: install ok installed
Architecture: all
Version: 1:6.4

Package: libgcc-s1
Status: install ok installed
Architecture: amd64
Version: 12.2.0-14
Pre-Depends: libc6

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1
"""
METADATA = {
    "posthaste_chassis": "Requires-Dist: Click>=8",
    "posthaste_quota": "Requires-Dist: posthaste-chassis[service]\nRequires-Dist: absent; extra == 'more'",
    "click": "License-Expression: BSD-3-Clause",
    "vine": "License: BSD\nClassifier: License :: OSI Approved :: BSD License",
    "Six": "License: MIT\nRequires-Dist: vine[old] (>=5) ; python_version < '4'",
    "long": f"License: {'Permission is hereby granted. ' * 9}",
}


def load() -> Any:
    spec = importlib.util.spec_from_file_location("image_sbom", ROOT / "deploy/images/sbom.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = load()


@pytest.fixture
def installed(tmp_path: Path) -> list[Distribution]:
    for name, more in METADATA.items():
        folder = tmp_path / f"{name}-1.2.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.2\n{more}\n")
    return list(distributions(path=[str(tmp_path)]))


@pytest.fixture
def bill(installed: list[Distribution]) -> dict[str, Any]:
    return make(installed)


def make(
    installed: list[Distribution], now: datetime = datetime(2026, 11, 22, 12, tzinfo=UTC)
) -> dict[str, Any]:
    document: dict[str, Any] = SCRIPT.bill(installed, STATUS, OS_RELEASE, "python:3.12@sha256:abc", now)
    return document


def component(bill: dict[str, Any], name: str) -> dict[str, Any]:
    [found] = [it for it in bill["components"] if it["name"] == name]
    return dict(found)


def needed_by(bill: dict[str, Any], ref: str) -> list[str]:
    [found] = [it["dependsOn"] for it in bill["dependencies"] if it["ref"] == ref]
    return list(found)


def test_it_is_valid_to_the_strict_schema_of_cyclonedx(bill: dict[str, Any]) -> None:
    assert sbom.fault(json.dumps(bill)) == ""


def test_it_speaks_of_the_image_and_of_what_that_is_built_on(bill: dict[str, Any]) -> None:
    image = bill["metadata"]["component"]
    assert (image["type"], image["name"], image["version"]) == ("container", "posthaste/quota", "1.2")
    assert image["properties"] == [{"name": "posthaste:base-image", "value": "python:3.12@sha256:abc"}]
    assert bill["metadata"]["timestamp"] == "2026-11-22T12:00:00Z"


def test_a_scanner_finds_each_package_by_its_address(bill: dict[str, Any]) -> None:
    purls = {it["name"]: it["purl"] for it in bill["components"] if "purl" in it}
    assert purls["six"] == "pkg:pypi/six@1.2"
    assert purls["libssl3"] == (
        "pkg:deb/debian/libssl3@3.0.17-1~deb12u2?arch=amd64&distro=debian-12&upstream=openssl"
    )
    assert "@2.36-9%2Bdeb12u10?" in purls["libc6"]
    assert purls["netbase"] == "pkg:deb/debian/netbase@1:6.4?arch=all&distro=debian-12"
    assert purls["python"].startswith("pkg:generic/python@3.")
    assert component(bill, "python")["cpe"].startswith("cpe:2.3:a:python:python:3.")
    assert component(bill, "debian")["version"] == "12"
    assert "gone" not in purls


def test_no_stranger_s_package_is_taken_for_one_of_ours(bill: dict[str, Any]) -> None:
    assert component(bill, "posthaste-quota")["purl"] == "pkg:generic/posthaste-quota@1.2"


def test_licences_are_what_the_packages_say(bill: dict[str, Any]) -> None:
    assert component(bill, "click")["licenses"] == [{"expression": "BSD-3-Clause"}]
    assert component(bill, "vine")["licenses"] == [{"license": {"name": "BSD License"}}]
    assert component(bill, "six")["licenses"] == [{"license": {"name": "MIT"}}]
    assert "licenses" not in component(bill, "long")


def test_it_tells_what_needs_what(bill: dict[str, Any]) -> None:
    assert needed_by(bill, "pkg:generic/posthaste-quota@1.2") == ["pkg:generic/posthaste-chassis@1.2"]
    assert needed_by(bill, "pkg:generic/posthaste-chassis@1.2") == ["pkg:pypi/click@1.2"]
    assert needed_by(bill, "pkg:pypi/six@1.2") == ["pkg:pypi/vine@1.2"]
    [libc, *_] = needed_by(bill, component(bill, "libssl3")["purl"])
    assert libc == component(bill, "libc6")["purl"]
    assert needed_by(bill, component(bill, "libc6")["purl"]) == [component(bill, "libgcc-s1")["purl"]]
    assert set(needed_by(bill, "image")) > {
        "pkg:generic/posthaste-quota@1.2",
        component(bill, "netbase")["purl"],
    }


def test_the_same_contents_have_the_same_serial_number(installed: list[Distribution]) -> None:
    first, later = make(installed), make(installed, datetime(2026, 12, 24, tzinfo=UTC))
    fewer = make([it for it in installed if it.name != "Six"])
    assert first["serialNumber"] == later["serialNumber"] != fewer["serialNumber"]


def test_an_image_of_several_services_has_the_name_that_compose_gives_it(
    installed: list[Distribution],
) -> None:
    [quota] = [it for it in installed if it.name == "posthaste_quota"]
    folder = Path(str(quota.locate_file("posthaste_media-1.2.dist-info")))
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.4\nName: posthaste-media\nVersion: 1.2\n")
    both = list(distributions(path=[str(folder.parent)]))
    assert make(both)["metadata"]["component"]["name"] == "posthaste/services"


def test_an_environment_without_a_package_of_ours_is_refused() -> None:
    with pytest.raises(SystemExit, match="no package of ours"):
        make([])
