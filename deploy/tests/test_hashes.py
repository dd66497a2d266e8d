"""Every installer refuses files whose hash is not in the lock: ./dev, the images, and npm.

The tests install packages of one module from a folder that replaces a registry.
"""

import hashlib
import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from deploy_kit import step_result

from local.paths import ROOT
from local.supply_chain import audit

#: pip's own words: for a file with another hash, and for a lock without one.
REFUSALS = {
    f" --hash=sha256:{'0' * 64}": "THESE PACKAGES DO NOT MATCH THE HASHES",
    "": "Hashes are required in --require-hashes mode",
}


def tiny_wheel(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    path, info = folder / f"{name}-1.0-py3-none-any.whl", f"{name}-1.0.dist-info"
    files = {
        f"{name}.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{it},,\n" for it in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in {**files, f"{info}/RECORD": record}.items():
            wheel.writestr(file, text)
    return path


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return tiny_wheel(tmp_path / "registry", "tiny")


def right(wheel: Path) -> str:
    return f" --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}"


def image(wheel: Path) -> tuple[Path, Callable[[], subprocess.CompletedProcess[str]]]:
    """The lock of an image, and a function that installs it."""
    folder = wheel.parents[1]
    package, wheels = folder / "simulator", tiny_wheel(folder / "wheels", "posthaste_simulator").parent
    package.mkdir()
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": wheel.parent}
    return package / "requirements.lock", lambda: step_result(
        "install.sh", folder / "into", wheels, package, **offline
    )


def checkout(wheel: Path) -> tuple[Path, Callable[[], subprocess.CompletedProcess[str]]]:
    """The lock of a checkout, and a function that runs its `./dev`."""
    folder = wheel.parents[1]
    shutil.copy(ROOT / "dev", folder / "dev")
    (folder / "deploy/local/local").mkdir(parents=True)
    (folder / "deploy/local/local/__main__.py").write_text("import tiny\n")
    env = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheel.parent), "HOME": str(folder)}
    return folder / "requirements.lock", lambda: subprocess.run(
        [str(shutil.which("bash")), folder / "dev", "--help"],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("installer", "hint"), [(image, ""), (checkout, "a file differs from the one in the lock")]
)
def test_a_file_with_another_hash_than_the_lock_s_is_not_installed(
    wheel: Path,
    installer: Callable[[Path], tuple[Path, Callable[[], subprocess.CompletedProcess[str]]]],
    hint: str,
) -> None:
    """`hint`: the text that `./dev` adds to pip's message."""
    lock, install = installer(wheel)
    for wrong, words in REFUSALS.items():
        lock.write_text(f"tiny==1.0{wrong}\n")
        refused = install()
        assert refused.returncode != 0
        assert words in refused.stderr
        assert hint in refused.stderr
        assert not list(wheel.parents[1].rglob("site-packages/tiny.py"))
    lock.write_text(f"tiny==1.0{right(wheel)}\n")
    assert install().returncode == 0
    assert list(wheel.parents[1].rglob("site-packages/tiny.py"))


def test_nothing_is_built_from_sources_when_it_is_installed(wheel: Path) -> None:
    """A source distribution is refused, because its build tools have no hashes."""
    lock, run = checkout(wheel)
    wheel.unlink()
    archive = wheel.parent / "tiny-1.0.tar.gz"
    archive.write_bytes(b"sources")
    lock.write_text(f"tiny==1.0{right(archive)}\n")
    done = run()
    assert done.returncode == 1
    assert "No matching distribution" in done.stderr


def test_every_place_where_pip_or_npm_installs_asks_for_hashes() -> None:
    scripts = [ROOT / "dev", ROOT / "deploy/images/Dockerfile", *(ROOT / "deploy/images").glob("*.sh")]
    lines = [
        line
        for path in scripts
        for line in re.findall(
            r"^(?! *#).* -m pip (?:.* )?(?:install|download) .*$", path.read_text(), re.MULTILINE
        )
    ]
    assert len(lines) > 4
    assert [line for line in lines if not re.search("--require-hashes|--no-index", line)] == []
    kit = (ROOT / "libs/testkit/testkit/foreign_packages.py").read_text()
    assert kit.count('"-m", "pip"') == kit.count('"--require-hashes", "--only-binary", ":all:"') == 1
    assert '"ci"' in kit  # which installs what the lock names, and nothing whose hash differs
    client = (ROOT / "libs/testkit/testkit/node_client.py").read_text()
    n8n = (ROOT / "libs/testkit/testkit/n8n_node.py").read_text()
    for npm in (client, kit, n8n):
        assert not re.search(r'(NPM|\*npm), "(?!ci"|pack"|install", "--offline")', npm)
    assert client.count("NPM, ") == 2  # to pack our own package, and to install it
    page = (ROOT / "docs/api/quickstart.md").read_text()
    commands = re.findall(r"^.*\bnpm .*$", page, re.MULTILINE)
    assert commands == [
        "npm ci --prefix clients/node",
        'npm install --no-save "$(npm pack --silent ./clients/node)"',
    ]


@pytest.mark.parametrize("folder", audit.NODE_LOCKS, ids=lambda folder: folder.name)
def test_every_package_for_node_has_a_hash(folder: Path) -> None:
    packages = json.loads((folder / "package-lock.json").read_text())["packages"]
    foreign = {path: package for path, package in packages.items() if path}
    assert foreign
    assert [path for path, it in foreign.items() if not it["integrity"].startswith("sha512-")] == []
    assert [path for path, it in foreign.items() if "resolved" in it] == []
