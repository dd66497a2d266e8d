"""Tests every cell of the table "What was seen" in docs/platforms.md through the whole stack.

A cell shows what happened in the test, not what our own tables say. `E2E_WRITE_TABLE=1 ./dev test
tests/e2e/posts/test_platform_table.py` writes the table anew.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from e2e_kit.api import Api, Json, error_code, refused, told
from e2e_kit.files import ELITE_FILE_BYTES, MB, film, stream
from e2e_kit.linking import NAMES, linked
from e2e_kit.memory import growth_of
from e2e_kit.operator import Account, Accounts
from e2e_kit.posting import PUBLISH_SECONDS
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.table import NOT_IN_CONTRACT, NOT_OFFERED, YES, Table
from e2e_kit.waiting import until

#: Reconciliation starts after 5 s and ends within two minutes (local-stack.md).
LOOK_UP_SECONDS = 130.0
#: Largest growth of publishing while it sends a film of 250 MB.
MOST_GROWTH_BYTES = 48 * MB


@dataclass
class Trial:
    """A page for one cell's test, which no other test uses."""

    account: Account
    page: Json
    simulator: Simulator
    photo: str
    video: str
    mp4: bytes

    @property
    def api(self) -> Api:
        return self.account.api

    @property
    def anything(self) -> dict[str, Any]:
        """Returns a post that this platform accepts."""
        media = {"YT": [self.video], "IG": [self.photo], "TT": [self.photo]}.get(self.page["platform"], [])
        return {"message": "Fresh rye", "media_urls": media}

    def post(self, **content: Any) -> Any:
        return self.api.call("POST", "/posts/publish", json={"page_id": self.page["id"], **content})

    def publish(self, **content: Any) -> Json:
        answer = self.post(**content or self.anything)
        assert answer.status_code == 201, told(answer)
        published: Json = answer.json()
        return published

    def offer(self, *kinds: str, **content: Any) -> str:
        """Tries to publish a post with these kinds of media. Returns the cell's text for yes or no; if no, asserts
        that the post was refused before anything was sent.
        """
        answer = self.post(**content)
        held = self.simulator.posts(self.page)
        if answer.status_code == 400:
            assert error_code(answer) in ("VALIDATION_ERROR", "UNSUPPORTED_PLATFORM"), told(answer)
            assert held == []
            return NOT_OFFERED
        assert answer.status_code == 201, told(answer)
        assert [[item["type"] for item in one["media"]] for one in held] == [list(kinds)]
        return YES

    def held(self) -> Json:
        [post] = self.simulator.posts(self.page)
        return post


def text(trial: Trial) -> str:
    return trial.offer(message="Fresh rye")


def photo(trial: Trial) -> str:
    return trial.offer("photo", message="Fresh rye", media_urls=[trial.photo])


def photos(trial: Trial) -> str:
    return trial.offer("photo", "photo", message="Fresh rye", media_urls=[trial.photo] * 2)


def video_5_mb(trial: Trial) -> str:
    size_bytes = 5 * MB
    media = json.loads(stream(trial.api, film(trial.mp4, size_bytes), size_bytes).data)
    seen = trial.offer("video", message="Fresh rye", media_ids=[media["media_id"]])
    assert trial.held()["media"][0]["bytes"] == media["size_bytes"]
    return seen


def first_comment(trial: Trial) -> str:
    words = "Recipe below"
    answer = trial.post(**trial.anything, first_comment=words)
    if answer.status_code == 400:
        refused(answer, 400, "VALIDATION_ERROR")
        return NOT_OFFERED

    def comments() -> list[str]:
        return [one["text"] for one in trial.held()["comments"]]

    assert until(comments, PUBLISH_SECONDS, "the first comment") == [words]
    return YES


def engagement(trial: Trial) -> str:
    post = trial.publish()
    answer = trial.api.call("GET", f"/posts/published/{post['post_id']}/engagement")
    if answer.status_code == 400:
        refused(answer, 400, "UNSUPPORTED_PLATFORM", platform=trial.page["platform"])
        return NOT_IN_CONTRACT
    trial.simulator.metrics(trial.page["platform"], post["platform_post_id"], likes=7, comments=3, shares=2)
    shown = trial.api.get(f"/posts/published/{post['post_id']}/engagement")["engagement"]
    assert (shown["likes"], shown["comments"], shown["shares"]) == (7, 3, 2)
    return YES


def comments(trial: Trial) -> str:
    post = trial.publish()
    if (
        trial.page["platform"] == "TT"
    ):  # which names posts later; what cannot be asked for is refused before that
        refused(trial.api.call("GET", f"/comments?post_id={post['post_id']}"), 400, "UNSUPPORTED_PLATFORM")
        return NOT_OFFERED
    trial.simulator.comment(trial.page["platform"], post["platform_post_id"], "Open on Sunday?")
    [comment] = trial.api.get("/comments", post_id=post["post_id"])["comments"]
    assert comment["text"].endswith("Open on Sunday?")
    return YES


def reply(trial: Trial) -> str:
    post = trial.publish()
    body = {"page_id": trial.page["id"], "comment_id": "cmt_none", "message": "From eight."}
    if trial.page["platform"] == "TT":
        refused(trial.api.call("POST", "/comments/reply", json=body), 400, "UNSUPPORTED_PLATFORM")
        return NOT_OFFERED
    first = trial.simulator.comment(trial.page["platform"], post["platform_post_id"], "Open on Sunday?")
    [comment] = trial.api.get("/comments", post_id=post["post_id"])["comments"]
    trial.api.post("/comments/reply", body | {"comment_id": comment["id"]})
    answers = [(one["text"], one["parent_id"]) for one in trial.held()["comments"] if one["parent_id"]]
    assert answers == [("From eight.", first)]
    return YES


def expired(trial: Trial) -> str:
    trial.simulator.fault("expired", trial.page)
    for _ in range(2):
        refused(trial.post(**trial.anything), 400, "PAGE_EXPIRED", page_id=trial.page["id"])
    assert trial.api.get(f"/pages/{trial.page['id']}")["page"]["expired"] is True
    assert trial.simulator.posts(trial.page) == []
    return YES


def rate_limited(trial: Trial) -> str:
    return _refused(trial, "rate_limit", is_retryable=True)


def rejected(trial: Trial) -> str:
    return _refused(trial, "reject", is_retryable=False)


def _refused(trial: Trial, mode: str, *, is_retryable: bool) -> str:
    trial.simulator.fault(mode, trial.page)
    answer = refused(trial.post(**trial.anything), 502, "PLATFORM_REJECTED", platform=trial.page["platform"])[
        "platform_error"
    ]
    assert (answer["retryable"], bool(answer["code"]), bool(answer["message"])) == (is_retryable, True, True)
    assert trial.simulator.posts(trial.page) == []
    assert trial.api.get(f"/pages/{trial.page['id']}")["page"]["expired"] is False
    return YES


def dropped_answer(trial: Trial) -> str:
    """Drops the answer to a publish. Asserts that the post is found, at once or by reconciliation."""
    # TikTok tells of photos by what was in the answer alone (docs/platforms/tiktok.md).
    content = {"media_urls": [trial.video]} if trial.page["platform"] == "TT" else trial.anything
    trial.simulator.fault("drop_after_accept", trial.page)
    answer = trial.post(**content)
    if answer.status_code != 201:
        refused(answer, 502, "PLATFORM_OUTCOME_UNKNOWN")
    published = until(
        lambda: trial.api.get("/posts/published", page_id=trial.page["id"])["published_posts"],
        LOOK_UP_SECONDS,
        "it is found",
    )
    assert len(published) == 1
    assert published[0]["remote_id"] in (trial.held()["id"], trial.held()["settings"].get("publish_id"))
    return YES


def refresh(trial: Trial) -> str:
    """Publishes with an expired token. Returns whether the token is refreshed, or the page has to be linked again."""
    trial.page, linking = linked(trial.account, trial.simulator, trial.page["platform"])
    owner = linking.person["accounts"][0]["account_id"]
    trial.simulator.fault("expired", trial.page)
    answer = trial.post(**trial.anything)
    if error_code(answer) == "PAGE_EXPIRED":
        assert owner not in trial.simulator.logins()["refreshed"]
        return NOT_OFFERED
    assert refused(answer, 502, "PLATFORM_REJECTED")["platform_error"]["retryable"] is True
    until(lambda: owner in trial.simulator.logins()["refreshed"], PUBLISH_SECONDS, "the token is renewed")
    assert trial.api.post(f"/pages/{trial.page['id']}/check", status=200)["healthy"] is True
    trial.publish()
    return YES


CELLS: dict[str, Callable[[Trial], str]] = {
    "text": text,
    "photo": photo,
    "photos": photos,
    "video 5 MB": video_5_mb,
    "first comment": first_comment,
    "engagement": engagement,
    "comments": comments,
    "reply": reply,
    "expired": expired,
    "rate limited": rate_limited,
    "rejected": rejected,
    "dropped answer": dropped_answer,
    "refresh": refresh,
}
LARGE = "video 250 MB"


@pytest.fixture(scope="module")
def table() -> Table:
    return Table()


@pytest.fixture(scope="module")
def account(accounts: Accounts) -> Account:
    return accounts.new(pages=())


@pytest.fixture
def trial(
    request: pytest.FixtureRequest, accounts: Accounts, account: Account, simulator: Simulator, photo: str,
    video: str, mp4: bytes,
) -> Trial:  # fmt: skip
    page = accounts.page(account.brand_id, request.getfixturevalue("platform"))
    return Trial(account, page, simulator, photo, video, mp4)


def test_the_table_has_a_cell_for_everything_that_is_tried(table: Table) -> None:
    assert list(table.rows) == list(NAMES.values())
    assert set(table.columns) == {*CELLS, LARGE}


@pytest.mark.parametrize("platform", NAMES)
@pytest.mark.parametrize(
    "column", [pytest.param(it, marks=pytest.mark.prompt if it.startswith("video") else ()) for it in CELLS]
)
def test_a_platform_does_what_the_table_says(trial: Trial, table: Table, platform: str, column: str) -> None:
    table.check(NAMES[platform], column, CELLS[column](trial))


@pytest.fixture(scope="module")
def large(account: Account, mp4: bytes) -> Json:
    """The record of an uploaded file of the largest size. All platforms use the same upload."""
    record: Json = json.loads(stream(account.api, film(mp4, ELITE_FILE_BYTES), ELITE_FILE_BYTES).data)
    return record


@pytest.mark.alone
@pytest.mark.prompt
@pytest.mark.parametrize("platform", NAMES)
def test_a_film_of_250_mb_reaches_the_platform_in_little_memory(
    trial: Trial, table: Table, stack: Stack, large: Json, platform: str
) -> None:
    began = time.monotonic()
    with growth_of(stack, "publishing") as growth:
        seen = trial.offer("video", message="Long", media_ids=[large["media_id"]])
    print(f"{platform}: publishing grew by {growth.bytes / MB:.1f} MB in {time.monotonic() - began:.1f} s")
    assert trial.held()["media"][0]["bytes"] == large["size_bytes"]
    assert growth.bytes <= MOST_GROWTH_BYTES
    table.check(NAMES[platform], LARGE, seen)
