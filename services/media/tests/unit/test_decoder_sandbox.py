"""What the service logs about its sandbox at start, and when it refuses to start."""

import os
import subprocess
import sys

import pytest
import structlog
from msgspec.structs import replace

from chassis.config import ConfigError
from chassis.sandbox.confinement import Confinement
from chassis.sandbox.pool import SandboxPool
from contracts.caller import Caller
from contracts.errors import ApiError
from media.config import Settings
from media.inspection import decoder_sandbox

SETTINGS = Settings(
    s3_url="", s3_public_url="", region="", bucket="", access_key="", secret_key="", public_base_url="",
    confined_at_once=1, videos_at_once=1, workers=64, ffmpeg="", sandbox_required=False, orphan_sweep_seconds=1,
)  # fmt: skip
REQUIRED = replace(SETTINGS, sandbox_required=True)
COMPLETE = Confinement(landlock_abi=1, seccomp=True)


def test_one_log_line_says_which_parts_of_the_sandbox_apply() -> None:
    with structlog.testing.capture_logs() as lines:
        decoder_sandbox.check(SETTINGS)
    [line] = lines
    assert line["event"] == "decoder_sandbox"
    assert line["log_level"] == ("warning" if line["missing"] else "info")
    assert (line["landlock_abi"] == 0) == ("landlock" in line["missing"])
    assert line["seccomp"] == ("seccomp" not in line["missing"])
    assert isinstance(line["network_namespace"], bool)


@pytest.mark.parametrize(
    ("held", "missing"),
    [
        (COMPLETE, ()),
        (replace(COMPLETE, landlock_abi=7, network_namespace=True), ()),
        (replace(COMPLETE, landlock_abi=0), ("landlock",)),
        (replace(COMPLETE, seccomp=False), ("seccomp",)),
        (Confinement(network_namespace=True), ("landlock", "seccomp")),
    ],
)
def test_a_required_sandbox_has_landlock_and_seccomp_or_the_service_does_not_start(
    monkeypatch: pytest.MonkeyPatch, held: Confinement, missing: tuple[str, ...]
) -> None:
    monkeypatch.setattr(SandboxPool, "confinement", lambda _: held)
    decoder_sandbox.check(SETTINGS)
    if not missing:
        decoder_sandbox.check(REQUIRED)
        return
    with pytest.raises(ConfigError, match=" and ".join(missing)):
        decoder_sandbox.check(REQUIRED)


def test_the_report_is_for_the_operator() -> None:
    with pytest.raises(ApiError, match="MISSING_SCOPE"):
        decoder_sandbox.report(None, Caller(account_id="usr_a", user_id="usr_a"))


#: From here on landlock_create_ruleset fails with EOPNOTSUPP, as on a kernel without Landlock.
WITHOUT_LANDLOCK = """
import ctypes, struct
from chassis.sandbox import seccomp
from chassis.config import ConfigError
from media.inspection import decoder_sandbox
from media.config import Settings

instructions = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x50000 + 95), (0x06, 0, 0, 0x7FFF0000)]
ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)
seccomp.enter(b"".join(struct.pack("=HBBI", *it) for it in instructions))
try:
    decoder_sandbox.check(Settings.from_env())
except ConfigError as error:
    print("refused:", error)
"""


@pytest.mark.parametrize("required", ["true", "false"])
def test_on_a_kernel_without_landlock_the_service_starts_only_where_none_is_required(required: str) -> None:
    env = {
        "S3_URL": "http://s3.test", "S3_ACCESS_KEY": "a", "S3_SECRET_KEY": "b", "MEDIA_SANDBOX_REQUIRED": required,
        "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    command = [sys.executable, "-c", WITHOUT_LANDLOCK]
    said = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=60).stdout
    assert "decoder_sandbox" in said
    assert ("refused: the sandbox of uploaded files lacks landlock" in said) == (required == "true")
