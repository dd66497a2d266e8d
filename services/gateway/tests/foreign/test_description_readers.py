"""Linters and generators by others read /openapi.json without an error, and the code that they generate compiles."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from testkit.foreign_packages import NODE, Installed, environment, installed_or_skip

#: Longest time for one program, on a busy machine.
_SECONDS = 180
#: What the linters may say beside errors. Some paths differ in a fixed part, which wins (OpenAPI 3.1, "Path Templating
#: Matching"); an installation's contact is its operator's; a summary may say all there is.
_WARNINGS = {"no-ambiguous-paths", "info-contact", "operation-description"}
#: The one response that openapi-python-client leaves out: a file's bytes, of several types.
_LEFT_OUT = "WARNING parsing GET /media/{key}/{filename} within media."


@pytest.fixture(scope="session")
def programs() -> Installed:
    return installed_or_skip(Path(__file__).parent)


@pytest.fixture
def description(make_gateway: Callable[..., FlaskClient], tmp_path: Path) -> Path:
    served = make_gateway(public_url="https://social.test").get("/api/v1/openapi.json").json
    assert len(served["paths"]) > 60
    (tmp_path / "openapi.json").write_text(json.dumps(served))
    return tmp_path / "openapi.json"


def run(programs: Installed, folder: Path, program: str, *arguments: str, code: int = 0) -> str:
    """Runs a program and returns its output. `program` is a file in node_modules/.bin or in the environment's bin."""
    own = programs.node_modules / ".bin" / program
    argv = [NODE / "bin" / "node", own] if own.exists() else [programs.python.parent / program]
    path = os.pathsep.join([str(programs.python.parent), os.environ["PATH"]])
    done = subprocess.run(
        [*argv, *arguments],
        cwd=folder,
        env=environment() | {"PATH": path, "REDOCLY_TELEMETRY": "off"},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_redocly_finds_no_error(programs: Installed, description: Path) -> None:
    told = run(programs, description.parent, "redocly", "lint", "openapi.json", "--format=json")
    problems = json.loads(told[told.index("{") : told.rindex("}") + 1])["problems"]
    assert [problem for problem in problems if problem["severity"] == "error"] == []
    assert {problem["ruleId"] for problem in problems} <= _WARNINGS


def test_spectral_finds_no_error(programs: Installed, description: Path) -> None:
    (description.parent / "rules.yaml").write_text('extends: ["spectral:oas"]\n')
    lint = ("lint", "openapi.json", "--ruleset", "rules.yaml", "-f", "json", "--quiet")
    problems = json.loads(run(programs, description.parent, "spectral", *lint))
    assert [problem for problem in problems if problem["severity"] == 0] == []
    assert {problem["code"] for problem in problems} <= _WARNINGS


def test_a_linter_finds_what_is_wrong(programs: Installed, description: Path) -> None:
    broken = json.loads(description.read_text())
    broken["paths"]["/me"]["get"]["responses"]["200"]["content"]["application/json"]["schema"] = {
        "$ref": "#/components/schemas/Nothing"
    }
    description.write_text(json.dumps(broken))
    told = run(programs, description.parent, "redocly", "lint", "openapi.json", code=1)
    assert "Can't resolve $ref" in told
    assert "failed with 1 error" in told


def test_the_types_and_the_client_that_others_make_in_typescript_compile(
    programs: Installed, description: Path
) -> None:
    folder = description.parent
    run(programs, folder, "openapi-typescript", "openapi.json", "-o", "api.ts")
    (folder / "use.ts").write_text(
        'import type { components } from "./api";\n'
        'const post: components["schemas"]["SchedulePost"] ='
        ' { page_id: "pag_1", message: "Hello", scheduled_at: "2030-01-01T00:00:00Z" };\n'
        "// @ts-expect-error: page_id is a text\n"
        'const wrong: components["schemas"]["SchedulePost"] = { page_id: 1, scheduled_at: "" };\n'
        "export { post, wrong };\n"
    )
    run(programs, folder, "openapi-ts", "-i", "openapi.json", "-o", "client")
    assert "schedulePost" in (folder / "client" / "sdk.gen.ts").read_text()
    modules = ["--module", "esnext", "--moduleResolution", "bundler", "--lib", "es2022,dom,dom.iterable"]
    strict = ("--noEmit", "--strict", "--target", "es2022", *modules)
    run(programs, folder, "tsc", *strict, "use.ts", "client/index.ts")


def test_openapi_python_client_makes_a_client_that_imports(programs: Installed, description: Path) -> None:
    generate = ("generate", "--path", "openapi.json", "--output-path", "generated", "--meta", "none")
    told = run(programs, description.parent, "openapi-python-client", *generate)
    assert [line for line in told.splitlines() if line.startswith(("ERROR", "WARNING"))] == [_LEFT_OUT]
    files = list((description.parent / "generated").rglob("*.py"))
    assert len(files) > 200
    use = "from generated.api.posts import schedule_post; from generated.models import SchedulePost"
    subprocess.run([programs.python, "-c", use], cwd=description.parent, check=True, timeout=_SECONDS)
