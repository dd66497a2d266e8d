"""The service's settings. Only this module reads the environment."""

import os
import shutil

import imageio_ffmpeg  # type: ignore[import-untyped]

from chassis import config
from chassis.config import ConfigError
from contracts.record import Record


class Settings(Record):
    """The settings of one process. README.md has the table of variables."""

    #: Where our services reach the storage.
    s3_url: str
    #: Where clients reach it, for multipart uploads.
    s3_public_url: str
    region: str
    bucket: str
    access_key: str
    secret_key: str
    #: Comes before /{key}/{filename}.
    public_base_url: str
    #: Sandboxed processes at once. Each may take a gigabyte of memory for a moment. Our choice.
    confined_at_once: int
    #: Videos copied at once; `AppContext` may lower it. Each takes 2.25 times its size of TMPDIR. Our choice.
    videos_at_once: int
    #: Calls, handlers and loops at once; inspections and waiting videos may take a part of them (context.py).
    workers: int
    #: Whether the service refuses to start with an incomplete sandbox.
    sandbox_required: bool
    #: How often the whole bucket is searched for orphaned objects. Our choice.
    orphan_sweep_seconds: float
    ffmpeg: str

    @classmethod
    def from_env(cls) -> "Settings":
        gateway = config.text("PUBLIC_BASE_URL", "http://127.0.0.1:8080")
        s3_url = config.text("S3_URL")
        return cls(
            s3_url=s3_url,
            s3_public_url=config.text("S3_PUBLIC_URL", s3_url),
            region=config.text("S3_REGION", "us-east-1"),
            bucket=config.text("S3_BUCKET", "posthaste-media"),
            access_key=config.text("S3_ACCESS_KEY"),
            secret_key=config.text("S3_SECRET_KEY"),
            public_base_url=config.text("MEDIA_PUBLIC_BASE_URL", f"{gateway.rstrip('/')}/media").rstrip("/"),
            confined_at_once=config.integer("MEDIA_CONFINED_AT_ONCE", 4),
            videos_at_once=config.integer("MEDIA_VIDEOS_AT_ONCE", 2),
            workers=config.integer("MAX_WORKERS", 64),  # the default of chassis
            sandbox_required=config.flag("MEDIA_SANDBOX_REQUIRED"),
            orphan_sweep_seconds=config.number("MEDIA_ORPHAN_SWEEP_SECONDS", 3600),
            ffmpeg=_path_of_ffmpeg(),
        )


def _path_of_ffmpeg() -> str:
    """Returns the path of the program in FFMPEG, or of imageio-ffmpeg's. Raises ConfigError if there is none."""
    try:
        name = config.text("FFMPEG", "") or imageio_ffmpeg.get_ffmpeg_exe()
    except RuntimeError as error:
        raise ConfigError(f"FFMPEG is not set, and the package imageio-ffmpeg has none: {error}") from error
    found = shutil.which(name)
    if found is None:
        raise ConfigError(f"FFMPEG: there is no program {name}")
    return os.path.abspath(found)
