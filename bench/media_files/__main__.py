"""`./dev bench media --files FOLDER`: tries every file below a folder as an upload to the media service, and tells what
became of it. A damaged or telling file does not fail the run.

The uploads go through the use cases of the service with a PostgreSQL and a storage of their own. The processes that
read the files are those of the service, in its sandbox and with its limits; their CPU and memory come from the kernel
when they end. Needs exiftool (Debian: libimage-exiftool-perl, or its path in EXIFTOOL) to look for notes about people.
"""

import argparse
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import structlog
from sqlalchemy import create_engine

from bench.media_files.measured_pool import MeasuredPool
from bench.media_files.summary import line, summary
from bench.media_files.trying import Trial
from chassis.db.database import Database
from media.config import Settings
from media.context import LIMITS, AppContext
from testkit.fixtures import cloned_databases


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench media")
    parser.add_argument(
        "--files", type=Path, required=True, metavar="FOLDER", help="the folder with the files"
    )
    folder: Path = parser.parse_args().files
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    if not paths:
        print(f"bench: there are no files below {folder}", file=sys.stderr)
        return 2
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    all_tried = []
    with trial() as running:
        for path in paths:
            all_tried.append(running.attempt(path, str(path.relative_to(folder))))
            print(line(all_tried[-1]), flush=True)
    print(f"\n{summary(all_tried)}")
    return 0


@contextmanager
def trial() -> Iterator[Trial]:
    """Yields a trial over a new database and the bucket of the servers for tests."""
    env = os.environ
    for name in ("S3_URL", "S3_BUCKET", "S3_ACCESS_KEY", "S3_SECRET_KEY"):
        env[name] = env[f"TEST_{name}"]
    engine = create_engine(env["TEST_DATABASE_URL"], isolation_level="AUTOCOMMIT")
    try:
        with (
            cloned_databases(engine) as make,
            closing(Database(make("media"), pool_size=2)) as database,
            closing(MeasuredPool(LIMITS)) as pool,
            closing(Trial(AppContext(database, Settings.from_env()), pool)) as running,
        ):
            yield running
    finally:
        engine.dispose()


if __name__ == "__main__":
    sys.exit(main())
