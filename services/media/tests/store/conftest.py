"""The use cases over a new database and a new bucket."""

from collections.abc import Callable, Iterator

import imageio_ffmpeg
import pytest
from media_kit.world import World

from chassis.db.database import Database
from chassis.sandbox.pool import SandboxPool
from media.config import Settings
from media.context import LIMITS, AppContext


@pytest.fixture
def database(open_database: Callable[[str], Database]) -> Database:
    return open_database("media")


#: Of the settings below.
_AT_ONCE = 2


@pytest.fixture(scope="session")
def sandbox_pools() -> Iterator[tuple[SandboxPool, SandboxPool]]:
    """The sandbox pools for the first and the second process of the media service in a test. All tests share them,
    because starting a fork server takes longer than most tests. A test may close them.
    """
    made = tuple(SandboxPool("media.decoder.functions", LIMITS, at_once=_AT_ONCE) for _ in range(2))
    yield made
    for pool in made:
        pool.close()


@pytest.fixture
def world(
    database: Database, bucket: dict[str, str], sandbox_pools: tuple[SandboxPool, SandboxPool]
) -> Iterator[World]:
    settings = Settings(
        s3_url=bucket["S3_URL"],
        s3_public_url=bucket["S3_URL"],
        region=bucket["S3_REGION"],
        bucket=bucket["S3_BUCKET"],
        access_key=bucket["S3_ACCESS_KEY"],
        secret_key=bucket["S3_SECRET_KEY"],
        public_base_url="https://files.test",
        confined_at_once=_AT_ONCE,
        videos_at_once=2,
        workers=64,
        ffmpeg=imageio_ffmpeg.get_ffmpeg_exe(),
        sandbox_required=False,
        orphan_sweep_seconds=3600,
    )
    context = AppContext(database, settings)
    context.sandbox_pool = sandbox_pools[0]
    yield World(context, database)
    if context.sandbox_pool is not sandbox_pools[0]:
        context.sandbox_pool.close()
