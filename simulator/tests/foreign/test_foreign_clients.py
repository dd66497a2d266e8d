"""Other people's clients do everything that they can against the simulator, with the platforms' host names and over
TLS.

This shows that the simulator accepts what the platforms accept. `FOREIGN_WRITE_TABLE=1 ./dev test
simulator/tests/foreign` writes the results to docs/platforms.md.
"""

import json
import os
from pathlib import Path

import foreign_kit
import pytest

from simulator.youtube import description
from testkit import foreign_packages

PROGRAMS = (
    "with_facebook_business.py", "with_google.py", "with_linkedin_api_client.cjs", "with_tweepy.py",
    "with_twitter_api_v2.cjs", "with_xdk.py",
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_foreign_client_can_do_everything(
    clients: foreign_kit.Clients, server: foreign_kit.Server, program: str
) -> None:
    seen = clients.run(program, server)
    name = seen.pop("name")
    assert tuple(seen) == foreign_kit.OPERATIONS
    failures = [f"{operation}:\n{told}" for operation, told in seen.items() if "\n" in told]
    assert failures == [], "\n".join(failures)
    if os.environ.get("FOREIGN_WRITE_TABLE") == "1":
        foreign_kit.write_row(name, seen)
    assert foreign_kit.table().get(name) == seen, (
        f"{name}: docs/platforms.md says otherwise. FOREIGN_WRITE_TABLE=1 writes what was seen"
    )


def test_the_table_has_a_row_for_each_client_and_no_other() -> None:
    assert len(foreign_kit.table()) == len(PROGRAMS) == len([*(foreign_kit.HERE / "clients").glob("with_*")])


def test_without_an_index_the_clients_are_missing_which_is_no_mismatch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign_packages, "_CACHE", tmp_path / "cache")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(foreign_packages.NotInstalled, match="No matching distribution") as caught:
        foreign_packages.install(foreign_kit.HERE)
    assert not caught.value.is_mismatch


def test_what_the_simulator_knows_of_google_s_calls_is_what_google_says(clients: foreign_kit.Clients) -> None:
    documents = clients.installed.python_packages / "googleapiclient" / "discovery_cache" / "documents"
    document = json.loads((documents / "youtube.v3.json").read_text())
    assert set(document["parameters"]) == description.COMMON
    for name, known in description.METHODS.items():
        resource, method = name.split(".")
        told = document["resources"][resource]["methods"][method]
        assert {scope.rpartition("/")[2] for scope in told["scopes"]} == {*known.scopes}, name
        assert set(told["parameters"]) == known.parameters, name
        for parameter, values in description.ENUMS.items():
            if parameter in known.parameters:
                assert set(told["parameters"][parameter]["enum"]) == values, parameter
    for name, fields in description.SCHEMAS.items():
        assert set(document["schemas"][name]["properties"]) == fields, name
