"""The floor of webhook deliveries: green threads (eventlet) that only send POST requests with the library `requests`.

`python -m bench.green_posts URL` prints the number of requests per second.
"""

import subprocess
import sys
import time

#: Number of requests, and of requests at the same time.
_COUNT, _THREADS = 2_000, 8
_BODY = (
    b'{"id":"evt_floor","event":"post.failed","created_at":"2026-01-01T00:00:00.000Z","data":{"text":"%s"}}'
    % (b"x" * 800)
)


def measure(url: str) -> float:
    """Runs this module in a separate process. Returns the number of requests per second."""
    arguments = [sys.executable, "-W", "ignore", "-m", "bench.green_posts", url]
    return float(subprocess.run(arguments, stdout=subprocess.PIPE, text=True, check=True).stdout)


def main() -> None:
    import eventlet

    eventlet.monkey_patch()  # not at import: the process that imports `measure` must not be patched

    import requests
    from eventlet.greenpool import GreenPool

    url = sys.argv[1]

    def post(_number: int) -> None:
        headers = {"Content-Type": "application/json"}
        requests.post(url, data=_BODY, headers=headers, timeout=10).raise_for_status()

    post(0)
    pool, began = GreenPool(_THREADS), time.monotonic()
    for _ in pool.imap(post, range(_COUNT)):
        """Each has been acknowledged."""
    print(_COUNT / (time.monotonic() - began))


if __name__ == "__main__":
    main()
