"""`./dev sbom` with a fake docker."""

import json
from pathlib import Path

import pytest

from local.processes.table import NotReady
from local.supply_chain import sbom

VALID = {
    "bomFormat": "CycloneDX",
    "specVersion": "1.6",
    "version": 1,
    "components": [
        {"type": "library", "name": "click", "version": "8.5.1", "purl": "pkg:pypi/click@8.5.1"},
        {"type": "operating-system", "name": "debian", "version": "12"},
    ],
}


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fake docker that prints the file `answer` and records its arguments."""
    program = tmp_path / "bin" / "docker"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$*" >>{tmp_path}/asked\ncat {tmp_path}/answer\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return tmp_path


def test_the_bill_of_an_image_is_taken_out_checked_and_counted(
    docker: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (docker / "answer").write_text(json.dumps(VALID))
    assert sbom.main(["posthaste/quota:1.3.0", "--into", str(docker / "bills")]) == 0
    written = docker / "bills" / "posthaste_quota_1.3.0.cdx.json"
    assert json.loads(written.read_text()) == VALID
    assert capsys.readouterr().out == f"{written}: 1 pypi\n"
    [asked] = (docker / "asked").read_text().splitlines()
    assert asked.endswith("--entrypoint=cat posthaste/quota:1.3.0 /usr/share/sbom/posthaste.cdx.json")


@pytest.mark.parametrize(
    "change", [{"bomFormat": "SPDX"}, {"components": [{"name": "no type"}]}, {"colour": 1}]
)
def test_what_the_schema_refuses_is_not_written(docker: Path, change: dict[str, object]) -> None:
    (docker / "answer").write_text(json.dumps(VALID | change))
    with pytest.raises(NotReady, match="not valid CycloneDX"):
        sbom.main(["posthaste/quota:1.3.0", "--into", str(docker / "bills")])
    assert list((docker / "bills").iterdir()) == []


def test_an_image_that_is_not_there_or_has_no_bill_says_so(docker: Path) -> None:
    with pytest.raises(NotReady, match=r"posthaste/none:1: docker could not read .*\n.*answer"):
        sbom.main(["posthaste/none:1", "--into", str(docker / "bills")])


def test_without_docker_it_says_what_is_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotReady, match="docker is needed"):
        sbom.read("posthaste/quota:1.3.0")
