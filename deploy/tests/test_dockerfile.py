"""The Dockerfile of all images: its steps and the files that it copies."""

import os
import re
import subprocess
import sys

from local.paths import ROOT
from local.supply_chain import sbom

DOCKERFILE = (ROOT / "deploy" / "images" / "Dockerfile").read_text()


def test_the_image_runs_these_steps_and_leaves_tools_behind() -> None:
    first, last = re.split(r"^FROM .*$", DOCKERFILE, flags=re.MULTILINE)[1:]
    assert "deploy/images/build.sh /wheels libs/ctl services/* simulator" in first
    assert "deploy/images/install.sh /opt/posthaste /wheels ${PACKAGES}" in first
    assert "COPY --from=build /opt/posthaste /opt/posthaste" in last
    assert "pip uninstall" in last
    assert not re.search(r"gcc|build-essential|pip install|setuptools", last)
    assert f'sbom.py --base "${{PYTHON_IMAGE}}" >{sbom.IN_IMAGE}' in last
    assert [
        line for line in DOCKERFILE.splitlines() if "pip install" in line and "--require-hashes" not in line
    ] == []
    assert "syntax=" not in DOCKERFILE  # which would fetch an image that nothing pins
    assert re.search(r"^USER 10001:10001$", last, flags=re.MULTILINE)
    assert re.search(r"^HEALTHCHECK ", last, flags=re.MULTILINE)


def test_the_libraries_of_every_image_are_fetched_before_anything_of_one_image() -> None:
    """Their layer is then built once for all images, and again only when a lock has changed.

    The next layer builds our own packages, also for all images.
    """
    before = DOCKERFILE.partition("ENV PIP_NO_INDEX=1")[0]
    assert set(re.findall(r"^COPY (\S+/requirements\.lock) locks/", before, re.MULTILINE)) == {
        str(path.relative_to(ROOT)) for pattern in ("services/*", "libs/ctl", "simulator")
        for path in ROOT.glob(f"{pattern}/requirements.lock")
    }  # fmt: skip
    assert "PACKAGES" not in re.sub(r"^#.*$", "", before, flags=re.MULTILINE)
    assert "/libraries" in before


SIGN_INS = """
import eventlet
eventlet.monkey_patch()
from accounts.users import passwords
list(eventlet.GreenPool(4).imap(lambda _: passwords.hash_password("a password"), range(60)))
[used] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS")]
print(int(used) // 1024)
"""


def test_after_many_sign_ins_accounts_is_far_below_the_memory_of_its_container() -> None:
    told = dict(re.findall(r"^ENV (MALLOC_\w+)=(\w+)$", DOCKERFILE, re.MULTILINE))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SIGN_INS],
        env=os.environ | told,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 200  # of 384 MiB


def test_what_the_dockerfile_copies_is_let_in_and_nothing_that_is_secret() -> None:
    let_in = {
        line[1:].rstrip("*.sh/")
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line[:1] == "!"
    }
    copied = {
        word for line in DOCKERFILE.splitlines() if line.startswith("COPY ") and "--from" not in line
        for word in line.split()[1:-1]
    }  # fmt: skip
    for path in copied:
        assert any(path.startswith(allowed) for allowed in let_in), path
        assert (ROOT / path).exists()


def test_caches_of_tools_are_not_let_in_because_they_would_build_every_image_anew() -> None:
    assert "**/.*" in (ROOT / ".dockerignore").read_text().splitlines()
