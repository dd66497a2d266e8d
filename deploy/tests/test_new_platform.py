"""A seventh platform needs only one folder, one row and its part of the simulator. The test adds them to a copy of the
tree.

A separate process, `WHAT_IS_THERE`, reports what the copy's code then knows of the platform.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from cryptography.fernet import Fernet

from local.paths import ROOT

#: Packages that know platforms, and their folders.
COPIED = (
    "libs/contracts",
    "libs/ctl",
    "services/gateway",
    "services/publishing",
    "simulator",
    "deploy/local",
)

ROW = """
        Platform(
            code="ZD", name="zed", title="Zed", per_hour=2, per_24h=9, message_limit=3, length_unit="words",
            comments=True, files={"photo": FileLimits(types=(JPEG,))},
        ),
"""
PLUGIN = '''
    """What the registry needs of Zed."""

    from dataclasses import dataclass, field

    from chassis import config
    from contracts.errors import invalid
    from publishing.platforms.base import Connector, Published
    from publishing.platforms.oauth.base import App, Login
    from publishing.platforms.plugin import PlatformPlugin


    @dataclass(frozen=True, slots=True)
    class ZedSettings:
        api_url: str = "https://zed.example"
        app: App = field(default_factory=App)

        @classmethod
        def from_env(cls):
            return cls(config.text("ZED_API_URL", cls().api_url), App.from_env("ZED_APP"))


    class ZedConnector(Connector):
        def __init__(self, settings):
            self.settings = settings

        def publish(self, account, content, checkpoint):
            return Published(f"{self.settings.api_url}/{content.settings['mood']}")

        def look_up(self, attempt): ...
        def comment(self, account, remote_id, text): ...
        def reply(self, account, comment_id, text): ...
        def find_comment(self, comment): ...
        def find_reply(self, reply): ...
        def list_comments(self, account, query): ...
        def engagement(self, account, remote_id): ...
        def profile(self, account): ...


    class ZedLogin(Login):
        scopes = ("speak",)

        def __init__(self, settings):
            self.settings = settings

        def authorize_url(self, state, redirect_uri, verifier):
            return f"{self.settings.api_url}/login?app={self.settings.app.client_id}"

        def exchange(self, code, redirect_uri, verifier): ...
        def accounts(self, tokens): ...


    def check_settings(settings, has_media):
        return [] if settings.get("mood") != "sad" else [invalid("zed_settings.mood", "must not be sad")]


    PLUGIN = PlatformPlugin(
        settings=ZedSettings,
        connector=ZedConnector,
        login=ZedLogin,
        length=lambda text: len(text.split()),
        check_settings=check_settings,
        polls="600=7",
    )
'''
SIMULATED = '''
    """Zed."""

    from flask import Blueprint


    def hosts(sim):
        zed = Blueprint("zed", __name__)

        @zed.get("/zed/me")
        def me():
            return sim.settings.apps["ZD"][0]

        return {("api.zed.test",): (zed,)}
'''
SIMULATED_ROW = """
        Platform(
            "ZD", "Zed", "zed.", lambda: "z" + _digits(8), module="simulator.zed",
            app=App("ZED_APP", "local-zed", "local-zed-secret"), addresses={"ZED_API_URL": "api.zed.test"},
        ),
"""

WHAT_IS_THERE = """
    import json
    from pathlib import Path

    import msgspec

    from contracts.platforms import parse_platform
    from contracts.publishing import EditPost, PostContent, SchedulePost
    from gateway.openapi.description import describe
    from gateway.routes import ENDPOINTS
    from local.stack import apps
    from local.stack import units
    from local.stack.stack import Stack
    from publishing.config import Settings
    from publishing.platforms.base import Account, Checkpoint, Content
    from publishing.platforms.registry import connectors, logins
    from publishing.rules import content
    from simulator.app import create_app
    from simulator.simulation import Simulation

    def findings(platform, **fields):
        post = PostContent(**{"message": "one two three"} | fields)
        return [error.extras["errors"][0] for error in content.findings(post, platform, {})]

    settings = Settings.from_env()
    asked = {"page_id": "pag_1", "scheduled_at": "2026-11-20T12:00:00Z", "zed_settings": {"mood": "glad"}}
    post = msgspec.convert(asked, SchedulePost)
    told = describe(ENDPOINTS)
    simulator = create_app(Simulation()).test_client()
    _, rows = Stack(Path("."), usual_ports=False).plan({name: at for at, name in enumerate(units.PORTS, 1)})
    env = {row.name: row.env for row in rows}
    published = connectors(settings.platforms)["ZD"].publish(
        Account("z1", "t"), Content("hi", settings=post.zed_settings), Checkpoint()
    )
    print(json.dumps({
        "code": parse_platform("Zed"),
        "stored": content.columns(post)["settings"],
        "edited": msgspec.convert({"id": "pst_1", "zed_settings": None}, EditPost).zed_settings,
        "good": findings("ZD", zed_settings={"mood": "glad"}),
        "long": findings("ZD", message="one two three four"),
        "sad": findings("ZD", zed_settings={"mood": "sad"}),
        "foreign": findings("FB", zed_settings={}),
        "remote_id": published.remote_id,
        "login": logins(settings.platforms)["ZD"].authorize_url("", "", ""),
        "polls": settings.polls["ZD"],
        "offered": told["x-platforms"].get("ZD"),
        "schema": "zed_settings" in told["components"]["schemas"]["ScheduledPost"]["properties"],
        "simulator": [simulator.get(path).status_code for path in ("/zed/me", "/api.zed.test/zed/me")],
        "account": simulator.post("/_sim/accounts", json={"platform": "ZD"}).json["account_id"],
        "linked": apps.CODES[-1],
        "publishing_told": {name: value for name, value in env["publishing"].items() if "ZED" in name},
        "simulator_told": {name: value for name, value in env["simulator"].items() if "ZED" in name},
    }))
"""


def insert(path: Path, before: str, text: str) -> None:
    source = path.read_text()
    assert source.count(before) == 1
    path.write_text(source.replace(before, text.lstrip("\n") + before))


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the copy with the seventh platform reports about platforms."""
    copy = tmp_path_factory.mktemp("tree")
    for folder in COPIED:
        name = folder.rpartition("/")[2]
        skipped = shutil.ignore_patterns("tests", "__pycache__", ".*")
        shutil.copytree(ROOT / folder / name, copy / folder / name, ignore=skipped)
    insert(copy / "libs/contracts/contracts/platforms.py", "    )\n}  # fmt: skip\n", ROW)
    zed = copy / "services/publishing/publishing/platforms/zed"
    zed.mkdir()
    (zed / "__init__.py").write_text("")
    (zed / "plugin.py").write_text(dedent(PLUGIN))
    insert(copy / "simulator/simulator/platforms.py", '        Platform("gemini"', SIMULATED_ROW)
    (copy / "simulator/simulator/zed.py").write_text(dedent(SIMULATED))
    run = tmp_path_factory.mktemp("run")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", dedent(WHAT_IS_THERE)],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(str(copy / folder) for folder in COPIED),
            "CREDENTIAL_KEYS": Fernet.generate_key().decode(),
            "ZED_API_URL": "http://zed.test",
            "ZED_APP_ID": "ours",
        },
        cwd=run, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_its_name_and_its_settings_are_taken_stored_and_edited(there: dict[str, Any]) -> None:
    assert there["code"] == "ZD"
    assert there["stored"] == {"zed_settings": {"mood": "glad"}}
    assert there["edited"] is None


def test_a_post_is_judged_by_the_row_and_by_the_folders_own_rules(there: dict[str, Any]) -> None:
    assert there["good"] == []
    assert [one["message"] for one in there["long"]] == ["Zed takes at most 3 words, these are 4"]
    assert [one["field"] for one in there["sad"]] == ["zed_settings.mood"]
    assert [one["message"] for one in there["foreign"]] == ["does not belong to a post on Facebook"]


def test_its_connector_and_login_are_found_where_the_environment_says(there: dict[str, Any]) -> None:
    assert there["remote_id"] == "http://zed.test/glad"
    assert there["login"] == "http://zed.test/login?app=ours"
    assert there["polls"] == [[600, 7]]


def test_it_is_told_of_in_the_description_of_the_api(there: dict[str, Any]) -> None:
    assert (there["offered"]["message_limit"], there["offered"]["length_unit"]) == (3, "words")
    assert there["schema"]


def test_the_simulator_plays_it_and_the_local_stack_links_a_page_on_it(there: dict[str, Any]) -> None:
    assert there["simulator"] == [404, 200]
    assert there["account"].startswith("z")
    assert there["linked"] == "ZD"
    assert there["publishing_told"]["ZED_API_URL"].endswith("/api.zed.test")
    ours = {name: there["publishing_told"][name] for name in ("ZED_APP_ID", "ZED_APP_SECRET")}
    assert there["simulator_told"] == ours
    assert ours["ZED_APP_ID"] == "local-zed"
