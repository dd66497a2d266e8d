"""Tests how many calls of the API each screen costs. The free plan permits ten a minute, which must be enough to look
around.
"""

import re
from typing import Any

import pytest
import requests
from e2e_kit.files import uploaded
from e2e_kit.operator import Account, Accounts
from e2e_kit.posting import tomorrow
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

from dashboard.cookies import linking_proof

#: Screen → calls at most, for somebody who has come from the overview.
SCREENS = {
    "/calendar": 1,
    "/posts": 1,
    "/comments": 1,
    "/compose": 1,
    "/compose/ai/films": 1,
    "/library": 1,
    "/pages": 1,
    "/brands": 2,
    "/usage": 3,
    "/usage/credits": 1,
    "/developers/requests": 2,
    "/activity/audit": 1,
    "/developers": 2,
    "/account": 3,
    "/account/email": 2,
    "/account/codes": 1,
}


#: Of the forms of a visitor's browser.
KEY = "k" * 43
#: Of every account here.
PASSWORD = "the owner's own"


class Visitor:
    """A browser without scripts that is signed in, with a session of its own."""

    def __init__(self, stack: Stack, account: Account, accounts: Accounts) -> None:
        self._url = stack.env["DASHBOARD_URL"]
        self.http = requests.Session()
        session = accounts.log_in(account, PASSWORD)["session_token"]
        self.http.cookies.update({"posthaste_session": session, "posthaste_form": KEY})

    def begin_linking(self, session_id: str) -> None:
        """Sets the cookie that a browser has after it has begun this linking."""
        self.http.cookies["posthaste_linking"] = linking_proof(KEY, session_id)

    def open(self, path: str) -> requests.Response:
        return self.http.get(self._url + path, timeout=60)

    def calls(self, path: str) -> int:
        answer = self.open(path)
        assert answer.status_code == 200, answer.text
        return calls_of(answer)


def calls_of(answer: requests.Response) -> int:
    found = re.search(r'desc="(\d+) calls"', answer.headers["Server-Timing"])
    assert found, answer.headers
    return int(found[1])


def test_each_screen_makes_few_calls(stack: Stack, accounts: Accounts) -> None:
    account = accounts.new(pages=("FB", "IG"), password=PASSWORD)
    visitor = Visitor(stack, account, accounts)
    assert visitor.calls("/") <= 3
    assert visitor.calls("/overview/account") <= 3
    visitor.calls("/compose")  # reads the description of the API, once in ten minutes for all people
    found = {screen: visitor.calls(screen) for screen in SCREENS}
    assert {screen: count for screen, count in found.items() if count > SCREENS[screen]} == {}
    assert min(found.values()) >= 1  # which notices when the session has ended
    assert visitor.calls("/") <= 2
    assert visitor.calls("/overview/account") == 1  # how much is used, which changes with every post
    assert visitor.calls("/posts/attention") == 1
    assert visitor.calls("/posts/attention") == 0


def test_no_screen_makes_more_than_three_calls_for_who_comes_from_nowhere(
    stack: Stack, accounts: Accounts, jpeg: bytes
) -> None:
    account = accounts.new(pages=("FB",), password=PASSWORD)
    Visitor(stack, account, accounts).open("/compose")  # reads the description of the API
    api, page = account.api, account.page_id()
    files = [uploaded(api, jpeg, f"{number}.jpg")["media_id"] for number in range(2)]
    post = {"page_id": page, "message": "Out", "media_ids": files}
    out = api.post("/posts/publish", post)["post_id"]
    logged = until(lambda: api.get("/logs?operation=publishPost")["entries"], 20, "the request is in the log")
    request_id = logged[0]["request_id"]
    waiting, *_ = (
        api.post("/posts/schedule", {**post, "scheduled_at": tomorrow(minutes=2 * number)})["scheduled_post"][
            "id"
        ]
        for number in range(2)
    )
    chosen = "&".join(f"media_id={it}" for it in files)
    till = {"name": "mine", "url": "http://127.0.0.1:9/", "events": ["post.failed"]}
    hook = api.post("/webhooks", till)["id"]
    delivery = api.post(f"/webhooks/{hook}/test", status=202)["id"]
    link = api.post("/pages/connect", {"platform": "FB", "brand_id": account.brand_id})["session_id"]
    screens = (
        *("/", *SCREENS, f"/posts/{out}", f"/posts/{waiting}", f"/calendar/move/{waiting}"),
        *(f"/library/{files[0]}", f"/comments/of/{out}"),
        *(
            f"/compose?{chosen}",
            f"/compose/files?{chosen}",
            "/compose/ai",
            f"/developers/requests/{request_id}",
        ),
        *(f"/brands/{account.brand_id}", f"/pages/linked?session_id={link}"),
        *(f"/compose?copy={out}", f"/compose?copy={waiting}", f"/compose?page={page}"),
        *(f"/developers/webhooks/{hook}", f"/developers/webhooks/{hook}/deliveries/{delivery}"),
    )

    def calls(screen: str) -> int:
        visitor = Visitor(stack, account, accounts)
        visitor.begin_linking(link)
        return visitor.calls(screen)

    found = {screen: calls(screen) for screen in screens}
    assert {screen: count for screen, count in found.items() if count > 3} == {}


def test_the_composer_asks_once_about_all_pages(stack: Stack, accounts: Accounts) -> None:
    account = accounts.new(pages=("FB", "IG", "TW"), password=PASSWORD)
    visitor = Visitor(stack, account, accounts)
    visitor.open("/compose")
    page = visitor.open("/compose")
    token = re.search(r'name="form_token" value="(\w+)"', page.text)
    assert token
    form: dict[str, Any] = {
        "form_token": token[1], "page_id": [it["id"] for it in account.pages.values()], "message": "Hello",
        f"text_of_{account.page_id('TW')}": "Hi", "when": "now", "key": "k" * 32,
    }  # fmt: skip
    checked = visitor.http.post(page.url + "/check", data=form, headers={"HX-Request": "true"}, timeout=60)
    assert checked.text.count("Ready") == 2  # Instagram takes no post without a file
    assert calls_of(checked) == 1


def test_the_sandbox_token_costs_one_call_when_it_is_asked_for(stack: Stack, accounts: Accounts) -> None:
    account = accounts.new(pages=(), password=PASSWORD)
    visitor = Visitor(stack, account, accounts)
    page = visitor.open("/developers")
    token = re.search(r'name="form_token" value="(\w+)"', page.text)
    assert token
    assert account.sandbox_token not in page.text
    shown = visitor.http.post(
        f"{page.url}/sandbox-token", data={"form_token": token[1], "key": "k" * 32}, timeout=60
    )
    assert account.sandbox_token in shown.text
    assert calls_of(shown) == 1


@pytest.mark.parametrize("is_part", [False, True])
def test_who_meets_the_limit_of_the_free_plan_is_told_how_long_and_goes_on_by_itself(
    stack: Stack, accounts: Accounts, is_part: bool
) -> None:
    visitor = Visitor(stack, accounts.new(tier="free", pages=(), password=PASSWORD), accounts)
    for screen in ("/", "/calendar", "/posts", "/library"):
        visitor.calls(screen)
    headers = {"HX-Request": "true"} if is_part else {}
    for _ in range(12):
        answer = visitor.http.get(
            f"{stack.env['DASHBOARD_URL']}/overview/account", headers=headers, timeout=60
        )
        if answer.status_code == 429:
            break
        answer = visitor.http.get(f"{stack.env['DASHBOARD_URL']}/posts", headers=headers, timeout=60)
        if answer.status_code == 429:
            break
    assert answer.status_code == 429
    seconds = re.search(r"This page loads by itself in (\d+) seconds?\.", answer.text)
    assert seconds, answer.text
    assert 0 < int(seconds[1]) <= 61
    if is_part:
        assert f"load delay:{seconds[1]}s" in answer.text
    else:
        assert answer.headers["Refresh"] == seconds[1]
