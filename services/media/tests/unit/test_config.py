"""Settings of the media service that are not set as they should be."""

import imageio_ffmpeg
import pytest

from chassis.config import ConfigError
from media.config import Settings


@pytest.fixture(autouse=True)
def _storage(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("S3_URL", "S3_ACCESS_KEY", "S3_SECRET_KEY"):
        monkeypatch.setenv(name, "x")


def test_a_start_without_any_ffmpeg_is_refused_with_the_setting_to_correct(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def find_none() -> str:
        raise RuntimeError("No ffmpeg exe could be found.")

    monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_exe", find_none)
    with pytest.raises(ConfigError, match=r"FFMPEG.*No ffmpeg exe could be found\."):
        Settings.from_env()


def test_a_start_with_an_ffmpeg_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FFMPEG", "no-such-ffmpeg")
    with pytest.raises(ConfigError, match="FFMPEG: there is no program no-such-ffmpeg"):
        Settings.from_env()
