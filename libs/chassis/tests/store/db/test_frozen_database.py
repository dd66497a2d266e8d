"""The link to PostgreSQL freezes: a call that waits fails in the end, and calls work again when the link is back."""

import os
import subprocess
import sys

import pytest
from sqlalchemy.engine import make_url

from testkit.faulty_link import FaultyLink

#: Pings the database twice, each time after a line of input. Prints `waits` before that, then the answer or the error
#: with whether it came in time.
ASKS = """
import sys, time
from chassis.db.database import Database
from contracts.errors import ApiError

database = Database(sys.argv[1])
database.ping()
for _ in range(2):
    print("waits", flush=True)
    sys.stdin.readline()
    began = time.monotonic()
    try:
        database.ping()
        print("answer", flush=True)
    except ApiError as error:
        print(error.code, time.monotonic() - began < float(sys.argv[2]), flush=True)
"""


@pytest.mark.parametrize(
    ("patched", "seconds"),
    [("from chassis.runtime import green; green.patch()", 5.0), ("import chassis.run", 15.0)],
    ids=["gevent", "eventlet"],
)
def test_a_frozen_link_is_an_outage(patched: str, seconds: float) -> None:
    url = os.environ.get("TEST_DATABASE_URL")
    if url is None:
        pytest.skip("TEST_DATABASE_URL is not set: run ./dev test")
    parts = make_url(url)
    link = FaultyLink(f"{parts.query['host']}/.s.PGSQL.{parts.port or 5432}")
    behind = parts.set(query={}, host="127.0.0.1", port=link.port).render_as_string(hide_password=False)
    argv = [sys.executable, "-c", f"{patched}\n{ASKS}", behind, str(seconds)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "waits\n"
            link.freeze()
            print(file=process.stdin, flush=True)
            assert process.stdout.readline() == "SERVICE_UNAVAILABLE True\n"
            link.thaw()
            assert process.stdout.readline() == "waits\n"
            print(file=process.stdin, flush=True)
            assert process.stdout.readline() == "answer\n"
        finally:
            link.close()
            process.kill()
