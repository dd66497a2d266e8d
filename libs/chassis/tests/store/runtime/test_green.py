"""Green threads in the process that serves HTTP. The test runs in another process, because gevent patches a whole
process.
"""

import os
import subprocess
import sys

import pytest

FOUR_QUERIES = """
from chassis.runtime import green
green.patch()
import sys, threading, time
from chassis.db.database import Database, fetch

database = Database(sys.argv[1], pool_size=4)

def query():
    with database.reading() as connection:
        fetch(connection, "SELECT pg_sleep(0.5)")

began = time.monotonic()
threads = [threading.Thread(target=query) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(time.monotonic() - began)
"""


def test_slow_queries_overlap_under_gevent() -> None:
    url = os.environ.get("TEST_DATABASE_URL")
    if url is None:
        pytest.skip("TEST_DATABASE_URL is not set: run ./dev test")
    done = subprocess.run(
        [sys.executable, "-c", FOUR_QUERIES, url], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 1.5  # one after the other they take 2 s
