"""The use cases over a new database and a new bucket."""

from collections.abc import Callable, Iterator

import imageio_ffmpeg
import pytest
from media_kit.world import World

from chassis.db.database import Database
from media.config import Settings
from media.context import AppContext


@pytest.fixture
def database(open_database: Callable[[str], Database]) -> Database:
    return open_database("media")


@pytest.fixture
def world(database: Database, bucket: dict[str, str]) -> Iterator[World]:
    settings = Settings(
        s3_url=bucket["S3_URL"],
        s3_public_url=bucket["S3_URL"],
        region=bucket["S3_REGION"],
        bucket=bucket["S3_BUCKET"],
        access_key=bucket["S3_ACCESS_KEY"],
        secret_key=bucket["S3_SECRET_KEY"],
        public_base_url="https://files.test",
        confined_at_once=2,
        videos_at_once=2,
        workers=64,
        ffmpeg=imageio_ffmpeg.get_ffmpeg_exe(),
        sandbox_required=False,
        orphan_sweep_seconds=3600,
    )
    context = AppContext(database, settings)
    yield World(context, database)
    context.sandbox_pool.close()
