"""`./dev demo --fill`: three weeks of posts through the API, and a run that was stopped is continued, not repeated."""

from collections import Counter
from collections.abc import Iterator

import pytest
from e2e_kit.api import Api, Json
from e2e_kit.operator import Accounts, Clock
from e2e_kit.stack import Stack

from local.demo import fill, story
from local.demo.journey import Surprise
from local.environment import read_env, write_env

#: Posts after which the first run stops: a brand, a webhook and some posts are there then.
STOPS_AFTER = 5


@pytest.fixture
def demo(stack: Stack, accounts: Accounts, clock: Clock) -> Iterator[Api]:
    """The API with the token of the demo account. Uses `clock`, which sets the shared clock right afterwards."""
    yield accounts.client(stack.env["LIVE_TOKEN"])
    write_env(stack.run, {name: value for name, value in read_env(stack.run).items() if name != fill.DONE})


def all_posts(api: Api) -> list[Json]:
    """Returns the demo account's posts in every state."""
    published = api.get("/posts/published", limit=100)
    scheduled = api.get("/posts/scheduled", status="queued,held,failed,cancelled", limit=100)
    return [it | {"status": "published"} for it in published["published_posts"]] + scheduled[
        "scheduled_posts"
    ]


@pytest.mark.alone
def test_a_stopped_run_is_continued_and_fills_the_account_once(
    demo: Api, stack: Stack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tell, told = fill.Filling._tell, []

    def stops(self: fill.Filling, post: story.Told) -> None:
        if len(told) == STOPS_AFTER:
            raise Surprise("the network is gone")
        told.append(post)
        tell(self, post)

    monkeypatch.setattr(fill.Filling, "_tell", stops)
    if not all_posts(demo):  # otherwise this test is repeated and finds the account filled
        assert fill.main(stack.run) == 1
        assert "Stopped: the network is gone" in capsys.readouterr().err
    monkeypatch.setattr(fill.Filling, "_tell", tell)
    assert fill.main(stack.run) == 0
    assert f"Look: {stack.env['DASHBOARD_URL']}" in capsys.readouterr().out
    assert sorted(it["name"] for it in demo.get("/brands")["brands"]) == [
        "Harbour Bakery",
        "Night Market",
        "Old Mill Café",
    ]
    assert [it["name"] for it in demo.get("/webhooks")["webhooks"]] == ["Till and stock"]
    posts = {it["message"]: it for it in all_posts(demo)}
    assert set(Counter(it["message"] for it in all_posts(demo)).values()) == {1}
    assert {posts[it.text]["status"] for it in story.PAST} == {"published"}
    assert {it["platform"] for it in posts.values() if it["status"] == "published"} == {
        it.platform for it in story.PAST
    }
    failed = [demo.get(f"/posts/{posts[text]['id']}")["post"] for *_, text in story.FAILED]
    assert {it["status"] for it in failed} == {"failed"}
    assert sorted(it["error"]["code"] for it in failed) == ["PAGE_EXPIRED", "PLATFORM_REJECTED"]
    assert posts[story.HELD[-1]]["status"] == "held"
    assert [posts[text]["status"] for *_, text, _ in story.NEXT] == ["queued"] * (len(story.NEXT) - 1) + [
        "cancelled"
    ]
    assert fill.main(stack.run) == 0
    assert "is filled already" in capsys.readouterr().out
