"""Runs the commands of the guides in docs/platforms and of docs/api/pages.md one after the other, as a reader pastes
them into a terminal.
"""

import json
import re
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from e2e_kit.linking import NAMES, Linking
from e2e_kit.mails import await_link
from e2e_kit.operator import Account, Accounts
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack

GUIDES = Path(__file__).parents[3] / "docs" / "platforms"
#: Where a command's answer has what the next command's variable is to hold.
ANSWERS = {"MEDIA": "media_id", "SESSION": "session_id", "PST": "post_id"}
_CALL = re.compile(r"curl -s (?:.|\\\n|\n +)*?\$BASE[^\s]*")


def calls(page: str) -> list[str]:
    """Returns every call of the API in the code blocks of a guide, in their order."""
    blocks = re.findall(r"^ *```\n(.*?)^ *```", (GUIDES / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    return [call for block in blocks for call in _CALL.findall(block) if "/api/v1/" in call]


class Stranger:
    """A reader of a guide. Runs its commands with the guide's variables, and sets variables from the answers."""

    def __init__(self, account: Account, platform: str, folder: Path) -> None:
        base = account.api.base_url.removesuffix("/api/v1")
        self.folder = folder
        self.variables = {
            "BASE": base, "TOKEN": account.api.token, "BRD": account.brand_id, "PLATFORM": NAMES[platform],
        }  # fmt: skip

    def run(self, command: str) -> Any:
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.folder, env=self.variables | {"PATH": "/usr/bin:/bin"},
            capture_output=True, check=True, timeout=60,
        )  # fmt: skip
        answer = json.loads(done.stdout)
        assert "error" not in answer or answer["error"] is None, (command, answer)
        found = {name: answer[field] for name, field in ANSWERS.items() if field in answer}
        self.variables |= found
        return answer


@pytest.fixture
def folder(tmp_path: Path, mp4: bytes, jpeg: bytes) -> Path:
    (tmp_path / "video.mp4").write_bytes(mp4)
    (tmp_path / "photo.jpg").write_bytes(jpeg)
    return tmp_path


@pytest.mark.prompt
def test_connecting_leads_from_a_login_to_a_reply(
    accounts: Accounts, simulator: Simulator, folder: Path
) -> None:
    account = accounts.new(pages=())
    stranger = Stranger(account, "FB", folder)
    commands: Iterator[str] = iter(calls("connecting.md"))
    begun = stranger.run(next(commands))
    person = simulator.person("FB")
    linking = Linking(account.api, simulator, account.brand_id, "FB", person, begun)
    assert linking.open().outcome == "choose"
    [found] = stranger.run(next(commands))["accounts"]
    stranger.variables["ACCOUNT"] = found["account_id"]
    [page] = stranger.run(next(commands))["pages"]
    stranger.variables["PAG"] = page["id"]
    post = stranger.run(next(commands))
    assert post["status"] == "published"
    rest = list(commands)
    for command in rest[:-2]:  # with a file, with a first comment, and what became of it
        stranger.run(command)
    simulator.comment("FB", post["platform_post_id"], "Nice", "Ann")
    stranger.variables["PST"] = post["post_id"]
    [comment] = stranger.run(rest[-2])["comments"]
    stranger.variables["CMT"] = comment["id"]
    assert stranger.run(rest[-1])["reply"]["message"] == "Thank you"


@pytest.mark.prompt
@pytest.mark.parametrize("platform", ["IG", "TT", "YT"])
def test_a_platforms_own_commands_make_its_test_post(
    accounts: Accounts, simulator: Simulator, folder: Path, platform: str
) -> None:
    account = accounts.new(pages=(platform,))
    stranger = Stranger(account, platform, folder)
    stranger.variables["PAG"] = account.pages[platform]["id"]
    commands = calls(f"{NAMES[platform]}.md")
    assert len(commands) == 2
    for command in commands:
        answer = stranger.run(command)
    assert answer["status"] == "published"
    [made] = simulator.posts(account.pages[platform])
    assert platform == "IG" or made["settings"].get("privacy_level") == "SELF_ONLY" or "private" in str(made)


def test_linkedins_command_begins_a_login_for_company_pages(accounts: Accounts, folder: Path) -> None:
    [command] = calls("linkedin.md")
    assert Stranger(accounts.new(pages=()), "LN", folder).run(command)["authorize_url"]


def test_a_stranger_signs_up_connects_a_page_and_publishes(
    stack: Stack, accounts: Accounts, simulator: Simulator, tmp_path: Path
) -> None:
    """The stranger has only the guide, the mail and a browser."""
    page = (GUIDES.parent / "api" / "pages.md").read_text()
    blocks = re.findall(r"^```\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    sign_up, sign_in, brand, token, begin, found, choose, publish = re.findall(
        r"curl -s (?:.|\\\n|\n +)*?\$(?:BASE_URL|ROOT)[^\s]*", "".join(blocks)
    )
    email, password = f"{uuid.uuid4().hex}@example.test", "a long password"
    variables = {
        "PATH": "/usr/bin:/bin", "EMAIL": email, "PASSWORD": password, "BASE_URL": stack.base_url,
        "ROOT": stack.root_url,
    }  # fmt: skip

    def run(command: str) -> Any:
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=variables, capture_output=True, check=True, timeout=60
        )
        answer = json.loads(done.stdout)
        assert "code" not in answer, (command, answer)
        return answer

    run(sign_up)
    user_id, code = await_link(stack, email)
    accounts.client(None).post(
        "/auth/email/verify", {"user_id": user_id, "code": code, "password": password}, 200
    )
    variables["SESSION"] = run(sign_in)["session_token"]
    variables["BRAND"] = run(brand)["id"]
    variables["TOKEN"] = run(token)["api_token"]
    begun = run(begin)
    variables["LINK"] = begun["session_id"]
    api = accounts.client(variables["TOKEN"])
    linking = Linking(api, simulator, variables["BRAND"], "FB", simulator.person("FB"), begun)
    assert linking.open().outcome == "choose"
    [account] = run(found)["accounts"]
    variables["ACCOUNT"] = account["account_id"]
    [connected] = run(choose)["pages"]
    variables["PAGE"] = connected["id"]
    assert run(publish)["status"] == "published"
    assert [post["text"] for post in simulator.posts(connected)] == ["Fresh bread"]
