"""`./dev images` and its part of `./dev lint`: each tag has the same digest in every file, and it is the one in the
registry.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from local.paths import ROOT
from local.processes.table import NotReady
from local.supply_chain import images

OLD, NEW = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
COMPOSE = """
services:
  gateway:
    image: ${POSTHASTE_IMAGES:-posthaste}/gateway:${POSTHASTE_VERSION:-1.3.0}
  postgres:
    image: ${POSTGRES_IMAGE:-postgres:18.4-alpine%s}
"""
MANIFEST = """
      containers:
        - image: registry.example.com:5000/library/postgres:18.4-alpine
          name: {}
"""
DOCKERFILE = "ARG PYTHON_IMAGE=python:3.12-slim%s\nFROM ${PYTHON_IMAGE} AS build\nFROM ${PYTHON_IMAGE}\n"


def checkout(root: Path, compose: str = f"@{OLD}", python: str = f"@{OLD}", manifest: str = "") -> Path:
    (root / "deploy/images").mkdir(parents=True)
    (root / "docker-compose.yml").write_text(COMPOSE % compose)
    (root / "deploy/images/Dockerfile").write_text(DOCKERFILE % python)
    (root / "deploy/broker.yaml").write_text(manifest)
    return root


def add_docker(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Makes this script the program `docker`."""
    (folder / "docker").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_every_image_of_others_in_this_checkout_has_a_digest() -> None:
    assert images.problems() == []
    assert len({one.tagged for one in images.references()}) > 8


def test_images_of_ours_and_stages_of_the_dockerfile_are_none_of_others(tmp_path: Path) -> None:
    found = [one.tagged for one in images.references(checkout(tmp_path))]
    assert found == ["python:3.12-slim", "postgres:18.4-alpine"]


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (f"image: postgres:18.4-alpine@{NEW}\n", "docker-compose.yml:6: postgres:18.4-alpine@sha256:aaa"),
        ("image: postgres:18.4-alpine\n", "has another digest than deploy/broker.yaml:1"),
        ("image: redis:8.2\n", "deploy/broker.yaml:1: redis:8.2 has no digest"),
        (f"image: redis:latest@{OLD}\n", "redis:latest@sha256:aaa"),
        ("image: redis\n", "deploy/broker.yaml:1: redis is not pinned"),
        (f"image: redis@{OLD}\n", "is not pinned: name a version as its tag"),
    ],
)
def test_lint_refuses_what_is_not_pinned_to_one_digest(tmp_path: Path, manifest: str, said: str) -> None:
    assert said in "\n".join(images.problems(checkout(tmp_path, manifest=manifest)))


def test_an_image_that_is_known_to_have_no_digest_is_let_through_everywhere_or_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "WITHOUT_DIGEST", {"postgres:18.4-alpine": "its registry is gone"})
    root = checkout(tmp_path, compose="")
    assert images.problems(root) == []
    (root / "deploy/broker.yaml").write_text(f"image: postgres:18.4-alpine@{NEW}\n")
    assert len(images.problems(root)) == 1


def test_pinning_writes_what_the_registry_says_into_every_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = checkout(tmp_path, compose="", manifest=MANIFEST + f"image: 'postgres:18.4-alpine@{OLD}'\n")
    add_docker(tmp_path, monkeypatch, f"""echo '{{"digest": "{NEW}"}}'; echo "$*" >>{tmp_path}/asked""")
    assert images.pin(root) == [
        "postgres:18.4-alpine",
        "python:3.12-slim",
        "registry.example.com:5000/library/postgres:18.4-alpine",
    ]
    assert (root / "docker-compose.yml").read_text() == COMPOSE % f"@{NEW}"
    assert (root / "deploy/images/Dockerfile").read_text() == DOCKERFILE % f"@{NEW}"
    pinned = MANIFEST.replace("18.4-alpine", f"18.4-alpine@{NEW}")
    assert (root / "deploy/broker.yaml").read_text() == f"{pinned}image: 'postgres:18.4-alpine@{NEW}'\n"
    assert images.problems(root) == []
    asked = (tmp_path / "asked").read_text().splitlines()
    assert "buildx imagetools inspect --format {{json .Manifest}} postgres:18.4-alpine" in asked
    assert len(asked) == 3


@pytest.mark.parametrize(
    ("docker", "said"),
    [
        ("echo 'no such host' >&2; exit 1", "no such host"),
        ('echo \'{"digest": "sha256:short"}\'', "docker printed no digest"),
    ],
)
def test_what_a_registry_does_not_say_changes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, docker: str, said: str
) -> None:
    root = checkout(tmp_path)
    script = f"""case "$*" in *python*) {docker};; *) echo '{{"digest": "{NEW}"}}';; esac"""
    add_docker(tmp_path, monkeypatch, script)
    with pytest.raises(NotReady, match=said):
        images.pin(root)
    assert (root / "docker-compose.yml").read_text() == COMPOSE % f"@{OLD}"


def test_without_docker_pinning_says_what_is_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotReady, match="docker with its buildx plugin"):
        images.current_digest("postgres:18.4-alpine")


def test_dev_images_lists_them(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "local", "images"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "postgres:18.4-alpine" in done.stdout
