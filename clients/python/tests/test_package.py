"""The wheel: its contents, its requirements, and a first post without the checkout on the path."""

import shutil
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from client_kit.misbehaving import MisbehavingServer

from posthaste import __version__

FOLDER = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built by the project's own backend from a copy, because setuptools writes beside the sources."""
    into = tmp_path_factory.mktemp("wheel")
    ignored = shutil.ignore_patterns("tests", "build", "*.egg-info", "__pycache__")
    shutil.copytree(FOLDER, into / "source", ignore=ignored)
    options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", into, into / "source"],
        check=True,
        timeout=120,
    )
    [made] = into.glob("posthaste_social-*.whl")
    return made


def test_the_wheel_holds_the_package_with_its_types_and_asks_for_little(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
        [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
        told = files.read(metadata).decode()
    assert "Provides-Extra: cli" in told
    assert {"posthaste/py.typed", "posthaste/operations/posts.py", "posthaste/webhooks.py"} <= set(names)
    assert not [name for name in names if name.startswith(("client_generator", "tests"))]
    assert f"\nVersion: {__version__}\n" in told
    needed = [
        line for line in told.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line
    ]
    assert needed == ["Requires-Dist: httpx2<3,>=2"]
    assert "Requires-Python: >=3.10" in told


def test_the_installed_wheel_publishes_a_post(wheel: Path, tmp_path: Path, server: MisbehavingServer) -> None:
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            "--target",
            tmp_path,
            wheel,
        ],
        check=True,
        timeout=120,
    )
    code = (
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}, *{site.getsitepackages()!r}]\n"
        "import posthaste, posthaste.webhooks\n"
        f"assert posthaste.__file__.startswith({str(tmp_path)!r}), posthaste.__file__\n"
        f"with posthaste.Posthaste('t', base_url={server.url!r}) as client:\n"
        "    print(client.publish_post(page_id='pag_1', message='from the wheel').post_id)\n"
    )
    # -S: the checkout's own folders, which site would add, stay off the path.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("pst_1\n", "")
    assert server.effects == {"from the wheel": 1}
