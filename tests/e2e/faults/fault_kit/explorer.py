"""A process that wanders through the API along what its answers offer, with tokens of every kind.

Standard input: one JSON object {base_url, worlds, seed, requests, seconds}; a world is kind → token (null for none).
Standard output: one JSON object {requests, statuses, operations, failures}.
"""

import json
import random
import sys
import time
from collections import Counter
from contextlib import suppress
from typing import Any

import hypothesis
import requests
import schemathesis
from hypothesis.stateful import run_state_machine_as_test
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
#: The walk goes on from what this kind gets; the others send the same, each so often.
WALKER = "live"
OTHERS = {"one brand": 1.0, "collaborator": 1.0, "sandbox": 0.3, "revoked": 0.2, "none": 0.3}
STEPS = 25
TIMEOUT_SECONDS = 60.0


class Enough(BaseException):
    """The requests or the seconds are used up."""


class Explorer:
    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.end = time.monotonic() + given["seconds"]
        self.random = random.Random(given["seed"])
        self.session = requests.Session()
        self.statuses: Counter[int] = Counter()
        self.operations: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.failures: dict[str, str] = {}

    def run(self) -> dict[str, Any]:
        schema = schemathesis.openapi.from_url(f"{self.given['base_url']}/openapi.json")
        settings = hypothesis.settings(
            max_examples=1_000_000, stateful_step_count=STEPS, deadline=None, database=None,
            phases=[hypothesis.Phase.generate], suppress_health_check=list(hypothesis.HealthCheck),
        )  # fmt: skip
        random.seed(self.given["seed"])
        machine = self.machine(schema)
        try:
            while True:
                with suppress(hypothesis.errors.Flaky):  # the same walk meets other answers: a new one
                    run_state_machine_as_test(machine, settings=settings)
        except Enough:
            pass
        return {
            "requests": self.statuses.total(), "statuses": dict(self.statuses), "operations": dict(self.operations),
            "kinds": dict(self.kinds), "failures": self.failures,
        }  # fmt: skip

    def machine(self, schema: Any) -> Any:
        explorer = self

        class Machine(schema.as_state_machine()):  # type: ignore[misc]
            def setup(self) -> None:
                self.world = explorer.random.choice(explorer.given["worlds"])

            def get_call_kwargs(self, case: Any) -> dict[str, Any]:
                return explorer.options(self.world, WALKER)

            def validate_response(
                self, response: Any, case: Any, additional_checks: Any = (), **_: Any
            ) -> None:
                explorer.note(WALKER, case, response)
                for kind, often in OTHERS.items():
                    if explorer.random.random() < often:
                        explorer.note(kind, case, case.call(**explorer.options(self.world, kind)))

        return Machine

    def options(self, world: dict[str, str | None], kind: str) -> dict[str, Any]:
        """Of a request with such a token. Raises Enough."""
        if self.statuses.total() >= self.given["requests"] or time.monotonic() > self.end:
            raise Enough
        headers = {} if world[kind] is None else {"Authorization": f"Bearer {world[kind]}"}
        return {"headers": headers, "session": self.session, "timeout": TIMEOUT_SECONDS}

    def note(self, kind: str, case: Any, response: Any) -> None:
        self.statuses[response.status_code] += 1
        self.operations[case.operation.label] += 1
        self.kinds[kind] += 1
        try:
            case.validate_response(response, checks=CHECKS)
        except (Failure, FailureGroup) as failure:
            told = getattr(failure, "exceptions", (failure,))
            for one in told:
                self.failures.setdefault(
                    f"{case.operation.label}: {type(one).__name__} {response.status_code}", str(one)[:1500]
                )


if __name__ == "__main__":
    print(json.dumps(Explorer(json.loads(sys.stdin.read())).run()))
