"""`python -m bench.hooks URL`: prints the CPU time, in microseconds, that tracing adds to one GET /pages when 10 % of
the requests are traced. URL is the address of a collector; the export is included.

Runs only the tracing code of the request and of its two RPC calls, in one process.
"""

import sys
import time

from chassis import telemetry
from chassis.config import TelemetryConfig
from chassis.runtime import garbage
from chassis.telemetry import tracing
from contracts.caller import Caller

_CALLER = Caller(account_id="usr_bench", user_id="usr_bench", request_id="req_bench")
#: Reads of one second, as many as can be exported. More spans would be dropped, which costs less than exporting them.
_SECONDS, _READS = 8, 1_000


class _Waiting:
    """A stand-in for the gateway's pending admission."""

    def __init__(self) -> None:
        self.cause = tracing.traceparent()


def _read() -> None:
    with tracing.request("GET", "/api/v1/pages", "", "req_bench") as traced:
        with tracing.on_behalf([_Waiting()]):
            calls = [("quota", "admit_all", *tracing.calling("quota", "admit_all"))]
        calls.append(("publishing", "list_pages", *tracing.calling("publishing", "list_pages")))
        for service, method, span, traceparent in calls:
            with (
                tracing.serving(service, method, _CALLER, traceparent),
                tracing.in_database(service, "statement"),
            ):
                pass
            if span is not None:
                tracing.called(span, None)
        traced.answered(200, _CALLER)


def main() -> None:
    telemetry.start("bench", TelemetryConfig(endpoint=sys.argv[1]))
    _second()
    garbage.settle()
    began = time.process_time()
    for _ in range(_SECONDS):
        _second()
    print((time.process_time() - began) / (_SECONDS * _READS) * 1e6)
    telemetry.stop(10.0)


def _second() -> None:
    """Runs 1,000 reads, then waits until their spans have been exported."""
    for _ in range(_READS):
        _read()
    time.sleep(1.5)


if __name__ == "__main__":
    main()
