"""A process that explores the API by following the ids and links in its responses, with tokens of every kind.

Standard input is one JSON object {base_url, worlds, seed, requests, seconds, now}. A world stands for an account:
{tokens: kind → token (null for none), ids: the ids of its objects}. `now` is the present time by the shifted clock.

Standard output is one JSON object {requests, statuses, operations, kinds, failures}. `operations` counts responses by
operation, then by status and code.
"""

import datetime as dt
import json
import random
import sys
import time
from collections import Counter, defaultdict
from contextlib import suppress
from typing import Any

import hypothesis
import requests
import schemathesis
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from fault_kit.sensible import Seen

CHECKS = [
    not_a_server_error,  # comes first: a platform that refuses a post is no error of our server
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
#: The walk continues from the responses to this kind of token. The others send the same request, each with this
#: probability.
WALKER = "live"
OTHERS = {"one brand": 1.0, "collaborator": 1.0, "sandbox": 0.3, "revoked": 0.2, "none": 0.3}
#: Tokens of the account itself: the walk can use the ids in their responses.
OWN = (WALKER, "one brand", "collaborator")
#: The share of requests with sensible values (`sensible`).
SENSIBLE = 0.5
STEPS = 50
TIMEOUT_SECONDS = 60.0


class Enough(BaseException):
    """Raised when the requests or the seconds are used up."""


class Explorer:
    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.begin = time.monotonic()
        #: Set by the first request, because a busy machine takes half a minute to read the OpenAPI description.
        self.end: float | None = None
        self.now = dt.datetime.fromisoformat(given["now"])
        self.seen = [Seen(world) for world in given["worlds"]]
        self.random = random.Random(given["seed"])
        self.session = requests.Session()
        self.session.trust_env = False  # reading the proxy settings would cost a millisecond per request
        self.statuses: Counter[int] = Counter()
        self.operations: dict[str, Counter[str]] = defaultdict(Counter)
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
                with suppress(hypothesis.errors.Flaky):  # a walk may get other answers: begin a new one
                    run_state_machine_as_test(machine, settings=settings)
        except Enough:
            pass
        return {
            "requests": self.statuses.total(), "statuses": self.statuses, "operations": self.operations,
            "kinds": self.kinds, "failures": self.failures,
        }  # fmt: skip

    def machine(self, schema: Any) -> Any:
        """Returns a state machine that makes requests one after the other. Rules of schemathesis continue from the
        links in a response; our rule begins again with any operation.
        """
        explorer = self

        class Walk(schema.as_state_machine()):  # type: ignore[misc]
            def setup(self) -> None:
                self.begun = 0
                number = explorer.random.randrange(len(explorer.seen))
                self.world, self.seen = explorer.given["worlds"][number]["tokens"], explorer.seen[number]

            def before_call(self, case: Any) -> None:
                if explorer.random.random() < SENSIBLE:
                    now = explorer.now + dt.timedelta(seconds=time.monotonic() - explorer.begin)
                    self.seen.put_right(case, now, explorer.random)

            def get_call_kwargs(self, case: Any) -> dict[str, Any]:
                return explorer.options(self.world, WALKER)

            def validate_response(
                self, response: Any, case: Any, additional_checks: Any = (), **_: Any
            ) -> None:
                explorer.note(WALKER, case, response, self.seen)
                for kind, often in OTHERS.items():
                    if explorer.random.random() < often:
                        answer = case.call(**explorer.options(self.world, kind))
                        explorer.note(kind, case, answer, self.seen)

        cases = [found.ok().as_strategy() for found in schema.get_all_operations()]

        def begin(walk: Any, number: int, data: Any) -> None:
            # Not drawn from a list by Hypothesis, which prefers some values.
            walk.begun += 1
            case = data.draw(random.Random(f"{number} {walk.begun}").choice(cases))
            walk.before_call(case)
            walk.validate_response(case.call(**walk.get_call_kwargs(case)), case)

        anywhere = rule(number=st.integers(0, 2**64 - 1), data=st.data())(begin)
        return type("Machine", (Walk,), {"begin": anywhere})

    def options(self, world: dict[str, str | None], kind: str) -> dict[str, Any]:
        """Returns the options of a request with a token of this kind. Raises Enough if the requests or the seconds are
        used up.
        """
        self.end = self.end or time.monotonic() + self.given["seconds"]
        if self.statuses.total() >= self.given["requests"] or time.monotonic() > self.end:
            raise Enough
        headers = {} if world[kind] is None else {"Authorization": f"Bearer {world[kind]}"}
        return {"headers": headers, "session": self.session, "timeout": TIMEOUT_SECONDS}

    def note(self, kind: str, case: Any, response: Any, seen: Seen) -> None:
        self.statuses[response.status_code] += 1
        code = code_of(response)
        self.operations[case.operation.label][f"{response.status_code} {code}".rstrip()] += 1
        self.kinds[kind] += 1
        if kind in OWN and case.method == "DELETE" and response.status_code < 300:
            seen.forget(case.formatted_path)
        elif kind in OWN:
            seen.note(response.text)
        try:
            platforms_word = response.status_code == 502 and code.startswith("PLATFORM_")
            case.validate_response(response, checks=CHECKS[platforms_word:])
        except (Failure, FailureGroup) as failure:
            told = getattr(failure, "exceptions", (failure,))
            asked = f"{kind}: {case.method} {case.formatted_path} {case.query} {case.body}"
            for one in told:
                name = f"{case.operation.label}: {type(one).__name__} {response.status_code}"
                self.failures.setdefault(name, f"{str(one)[:1500]}\n{asked[:1500]}\n{response.text[:1500]}")


def code_of(response: Any) -> str:
    """Returns the error code of a JSON response; empty if it has none."""
    if response.status_code < 400 or "application/json" not in str(response.headers.get("content-type")):
        return ""
    return str(json.loads(response.text)["code"])


if __name__ == "__main__":
    print(json.dumps(Explorer(json.loads(sys.stdin.read())).run()))
