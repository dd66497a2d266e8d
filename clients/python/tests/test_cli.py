"""Each command of `posthaste`: its help, its output for people and for programs, and its refusals."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from client_kit.misbehaving import MisbehavingServer, Reply, Request, error, published

from posthaste import RetryPolicy
from posthaste.cli import credentials
from posthaste.cli.main import main

Run = Callable[..., Result]

PAGES = [
    {
        "id": f"pag_{number}", "platform": platform, "name": name, "username": username, "account_id": "1",
        "brand_id": "brd_1", "brand_name": "Bakery", "followers": 3, "picture": None, "expired": number == 2,
        "created_at": "2026-11-20T11:58:09.847Z",
    }
    for number, platform, name, username in ((1, "FB", "Corner Bakery", None), (2, "IG", "Bread", "corner"))
]  # fmt: skip
POST = {
    "id": "pst_1", "page_id": "pag_1", "brand_id": "brd_1", "platform": "FB", "message": "Fresh bread", "media": [],
    "scheduled_at": "2026-12-01T08:00:00Z", "status": "queued", "created_at": "2026-11-20T11:58:09.847Z",
}  # fmt: skip
REFUSED = {"code": "PLATFORM_REJECTED", "message": "too long (100)", "recommended_fix": "Change the post."}
FULL_POST = POST | {
    "origin": "scheduled", "status": "failed", "brand_name": "Bakery", "next_attempt_at": None, "published_at": None,
    "page": {"id": "pag_1", "name": "Corner Bakery", "username": None, "expired": False, "unlinked_at": None},
    "remote_id": None, "permalink": None, "error": REFUSED, "hold": None, "first_comment_result": None, "made_by": None,
    "attempts": [
        {"number": 1, "outcome": "refused", "began_at": "2026-12-01T08:00:00Z", "ended_at": "2026-12-01T08:00:01Z",
         "error": REFUSED},
    ],
}  # fmt: skip
ME = {
    "authenticated_as": {"user_id": "usr_1", "email": "ada@example.test", "firstname": "Ada", "lastname": ""},
    "api_key": {"id": "tok_1", "name": "mine", "prefix": "svc_live_abc", "scopes": ["*"], "expires_at": None},
}
FILE = {
    "media_id": "med_1", "filename": "a.jpg", "mime_type": "image/jpeg", "size_bytes": 5, "type": "photo", "url": "u",
    "scheduled_post_id": None, "created_at": "2026-11-20T11:58:09Z", "tier": "elite",
    "quota": {"used_bytes": 5, "limit_bytes": 10, "remaining_bytes": 5},
}  # fmt: skip
LOGGED = {
    "id": "log_1", "created_at": "2026-12-01T08:00:00Z", "token_id": "tok_1", "method": "POST", "status": 429,
    "path": "/posts/publish", "operation": "publishPost", "code": "RATE_LIMITED", "request_id": "req_1",
    "duration_ms": 12, "replayed": False,
}  # fmt: skip
SESSION = {
    "id": "ses_1", "created_at": "2026-11-20T11:58:09Z", "last_used_at": "2026-11-20T11:58:09Z",
    "expires_at": "2026-12-20T11:58:09Z", "user_agent": "x", "address": "127.0.0.1", "current": True,
}  # fmt: skip
#: Every command with arguments that work, and what people then see.
COMMANDS: dict[str, tuple[list[str], str]] = {
    "whoami": ([], "ada@example.test"),
    "pages": ([], "pag_1  FB        Corner Bakery"),
    "post": (["Hello", "--page", "FB"], "published  pst_1"),
    "schedule": (
        ["Hello", "--page", "pag_1", "--at", "2026-12-01T09:00+01:00"],
        "Tue 2026-12-01 09:00 +0100",
    ),
    "list": ([], "pst_1  FB        queued"),
    "show": (["pst_1"], "refused, too long (100)"),
    "cancel": (["pst_1"], "Cancelled pst_1."),
    "retry": (["pst_1"], "queued"),
    "upload": (["a.jpg"], "med_1  a.jpg"),
    "logs": ([], "429     POST /posts/publish  12  RATE_LIMITED  req_1"),
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("POSTHASTE_URL", "POSTHASTE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr("posthaste.cli.session.RETRIES", RetryPolicy(max_retries=0))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jpg").write_bytes(b"bytes")
    return tmp_path


@pytest.fixture
def api(server: MisbehavingServer) -> MisbehavingServer:
    """A server that answers every command."""

    def scheduled(request: Request) -> Reply:
        if request.method == "DELETE":
            return Reply(200, {"success": True, "id": "pst_1"})
        return Reply(200, {"scheduled_post": POST})

    bodies: dict[str, Any] = {
        "/api/v1/me": ME,
        "/api/v1/pages": {"pages": PAGES, "next_cursor": None},
        "/api/v1/posts/publish": published("Hello"),
        "/api/v1/posts/schedule": {"scheduled_post": POST},
        "/api/v1/posts/scheduled": {"scheduled_posts": [POST], "next_cursor": None},
        "/api/v1/posts/scheduled/pst_1/retry": {"scheduled_post": POST},
        "/api/v1/posts/pst_1": {"post": FULL_POST},
        "/api/v1/media/upload": FILE,
        "/api/v1/logs": {"entries": [LOGGED], "next_cursor": None},
    }
    server.routes |= {path: lambda _, body=body: Reply(200, body) for path, body in bodies.items()}
    server.routes["/api/v1/posts/scheduled/pst_1"] = scheduled
    return server


@pytest.fixture
def run(api: MisbehavingServer) -> Run:
    def run(*arguments: str, signed_in: bool = True, typed: str | None = None) -> Result:
        environment = {"POSTHASTE_URL": api.url, "POSTHASTE_TOKEN": "svc_live_x"} if signed_in else {}
        return CliRunner().invoke(main, arguments, env=environment, input=typed)

    return run


def test_every_command_is_tested_and_listed_in_the_help(run: Run) -> None:
    assert {*COMMANDS, "login", "logout", "completion", "webhooks"} == main.commands.keys()
    told = run("--help").output
    assert all(f"  {name} " in told for name in main.commands)
    assert "Exit codes: 0 done, 1 refused, 2 wrong usage, 3 not signed in" in told


@pytest.mark.parametrize("name", sorted(main.commands))
def test_a_command_has_help_that_begins_with_a_sentence(run: Run, name: str) -> None:
    result = run(name, "--help")
    assert (result.exit_code, result.output.splitlines()[2].strip()[-1]) == (0, ".")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_prints_a_table_or_facts(run: Run, name: str) -> None:
    arguments, seen = COMMANDS[name]
    result = run(name, *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    assert seen in result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_prints_json_for_programs(run: Run, name: str) -> None:
    result = run("--json", name, *COMMANDS[name][0])
    assert result.exit_code == 0
    assert json.loads(result.stdout)


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    ("reply", "code"),
    [(error(403, "MISSING_SCOPE", required_scope="read:x"), 1), (error(401, "TOKEN_REVOKED"), 3)],
    ids=["refused", "token"],
)
def test_a_refusal_is_told_with_its_exit_code(
    run: Run, api: MisbehavingServer, name: str, reply: Reply, code: int
) -> None:
    api.mood = lambda: reply
    result = run(name, *COMMANDS[name][0])
    assert (result.exit_code, result.stdout) == (code, "")
    assert "What happened. (req_1)" in result.stderr
    as_json = run("--json", name, *COMMANDS[name][0])
    assert as_json.exit_code == code
    assert json.loads(as_json.stdout)["request_id"] == "req_1"


@pytest.mark.parametrize("name", COMMANDS)
def test_without_a_sign_in_a_command_tells_what_to_do(run: Run, name: str) -> None:
    result = run(name, *COMMANDS[name][0], signed_in=False)
    assert result.exit_code == 3
    assert "Run posthaste login" in result.stderr


def test_a_lost_answer_names_the_key_to_repeat_the_command_with(run: Run, api: MisbehavingServer) -> None:
    api.routes["/api/v1/posts/publish"] = lambda _: Reply(how="lost")
    result = run("post", "Hello", "--page", "pag_1")
    assert result.exit_code == 4
    key = api.requests[-1].key
    assert f"repeat the command with --key {key}" in result.stderr
    run("post", "Hello", "--page", "pag_1", "--key", key)
    assert api.requests[-1].key == key


def test_a_page_is_found_by_its_id_name_user_name_or_platform(run: Run, api: MisbehavingServer) -> None:
    for word in ("pag_2", "bread", "@corner", "ig"):
        assert run("post", "Hello", "--page", word).exit_code == 0
        assert api.requests[-1].json["page_id"] == "pag_2"
    missing = run("post", "Hello", "--page", "nobody")
    assert (missing.exit_code, "There is no page 'nobody'" in missing.stderr) == (2, True)


def test_several_pages_are_one_call_and_a_refused_one_is_an_exit_code(
    run: Run, api: MisbehavingServer
) -> None:
    results = [
        {"page_id": "pag_1", "status": 201, "post": published("Hello")},
        {
            "page_id": "pag_2",
            "status": 400,
            "error": {"error": "No picture.", "code": "UNSUPPORTED_PLATFORM"},
        },
    ]
    api.routes["/api/v1/posts/publish"] = lambda _: Reply(207, {"results": results})
    result = run("post", "Hello", "--page", "FB", "--page", "IG")
    assert api.requests[-1].json["page_ids"] == ["pag_1", "pag_2"]
    assert result.exit_code == 1
    assert "No picture." in result.stdout


def test_a_file_is_uploaded_before_the_post(run: Run, api: MisbehavingServer) -> None:
    assert run("post", "--page", "FB", "--file", "a.jpg", "--media-id", "med_0").exit_code == 0
    assert b"bytes" in api.requests[-2].body
    assert api.requests[-1].json["media_ids"] == ["med_0", "med_1"]


def test_the_time_is_sent_with_its_zone(run: Run, api: MisbehavingServer) -> None:
    run("schedule", "Hello", "--page", "FB", "--at", "2026-12-01 09:00", "--zone", "America/New_York")
    assert api.requests[-1].json["scheduled_at"] == "2026-12-01T09:00:00-05:00"


@pytest.mark.parametrize(
    "arguments",
    [
        ("post", "--page", "FB"),
        ("schedule", "Hello", "--page", "FB", "--at", "soon"),
        ("schedule", "Hello", "--page", "FB", "--at", "9:00", "--zone", "Nowhere"),
        ("upload", "missing.jpg"),
        ("list", "--limit", "0"),
        ("nothing",),
    ],
)
def test_wrong_usage_sends_nothing_that_writes(
    run: Run, api: MisbehavingServer, arguments: tuple[str, ...]
) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert {request.method for request in api.requests} <= {"GET"}


def test_a_token_is_stored_for_its_user_alone_and_used_by_later_commands(
    run: Run, api: MisbehavingServer
) -> None:
    result = run("--url", api.url, "login", signed_in=False, typed="svc_live_typed\n")
    assert result.exit_code == 0
    assert "as ada@example.test." in result.stdout
    assert "svc_live_typed" not in result.output
    assert stat.S_IMODE(credentials.path().stat().st_mode) == 0o600
    assert run("whoami", signed_in=False).exit_code == 0
    assert api.requests[-1].headers["authorization"] == "Bearer svc_live_typed"


def test_a_wrong_token_is_not_stored(run: Run, api: MisbehavingServer) -> None:
    api.mood = lambda: error(401, "INVALID_TOKEN")
    assert run("--url", api.url, "login", signed_in=False, typed="wrong\n").exit_code == 3
    assert credentials.load() is None


def test_login_asks_for_a_code_only_where_the_account_needs_one(run: Run, api: MisbehavingServer) -> None:
    def answer(request: Request) -> Reply:
        if request.json.get("totp_code") != "123456":
            return error(401, "TOTP_REQUIRED")
        return Reply(201, {"session": SESSION, "session_token": "ses_token", "user": {}})

    api.routes["/auth/login"] = answer
    typed = "secret\n123456\n"
    result = run("--url", api.url, "login", "--email", "ada@example.test", signed_in=False, typed=typed)
    assert (result.exit_code, "authenticator app" in result.stderr) == (0, True)


def test_a_password_gives_a_session_that_logout_ends(run: Run, api: MisbehavingServer) -> None:
    api.routes["/auth/login"] = lambda _: Reply(
        201, {"session": SESSION, "session_token": "ses_token", "user": {}}
    )
    api.routes["/auth/logout"] = lambda _: Reply(200, {"success": True, "id": "ses_1"})
    result = run("--url", api.url, "login", "--email", "ada@example.test", signed_in=False, typed="secret\n")
    assert result.exit_code == 0, result.output
    assert api.requests[0].json == {"email": "ada@example.test", "password": "secret"}
    stored = credentials.load()
    assert stored is not None
    assert stored.token == "ses_token"
    assert run("logout", signed_in=False).exit_code == 0
    assert api.requests[-1].headers["authorization"] == "Bearer ses_token"
    assert credentials.load() is None


def test_a_stored_token_is_not_sent_to_another_server(run: Run, api: MisbehavingServer) -> None:
    credentials.store(credentials.Credentials(url="http://other.test", token="svc_live_other"))
    assert run("--url", api.url, "whoami", signed_in=False).exit_code == 3
    assert api.requests == []


@pytest.mark.parametrize("path", ["", "/", "/api/v1", "/api/v1/"])
def test_a_stored_token_is_used_however_the_address_of_its_server_is_written(
    run: Run, api: MisbehavingServer, path: str
) -> None:
    credentials.store(credentials.Credentials(url=api.url, token="svc_live_own"))
    assert run("--url", api.url + path, "whoami", signed_in=False).exit_code == 0
    assert api.requests[-1].headers["authorization"] == "Bearer svc_live_own"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_completion(run: Run, shell: str) -> None:
    assert "_POSTHASTE_COMPLETE" in run("completion", shell).stdout


def test_a_shell_is_told_the_commands() -> None:
    environment = os.environ | {
        "_POSTHASTE_COMPLETE": "bash_complete", "COMP_WORDS": "posthaste sch", "COMP_CWORD": "1"
    }  # fmt: skip
    code = "from posthaste.cli.main import main; main(prog_name='posthaste')"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "plain,schedule"
