"""Comments of Facebook and Instagram: lists of the length asked for, single ones, and asking to be told of them."""

from collections.abc import Callable
from typing import Any

import pytest

from contracts.errors import ApiError
from publishing.platforms.base import Content, MediaSource, PlatformRefusal, Refusal

PHOTO = Content("look", (MediaSource("photo", "http://media.posthaste.test/media/photo-1080x1080.jpg"),))


def visit(simulator: Any, platform: str, post_id: str, text: str, parent_id: str | None = None) -> str:
    body = {"platform": platform, "post_id": post_id, "from": "ann", "text": text, "parent_id": parent_id}
    made: str = simulator.call("POST", "comments", **body)["id"]
    return made


def read_all(
    user: Any, remote_id: str, limit: int, meanwhile: Callable[[], object] = lambda: None
) -> list[str]:
    seen, cursor = [], None
    while True:
        page = user.connector.list_comments(user.account, remote_id, limit=limit, cursor=cursor)
        assert len(page.comments) <= limit
        seen += [one.id for one in page.comments]
        cursor = page.next_cursor
        if cursor is None:
            return seen
        meanwhile()


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 50])
@pytest.mark.parametrize("platform", ["FB", "IG"])
def test_a_list_with_answers_comes_in_pages_of_the_length_asked_for(
    attempts: Any, simulator: Any, platform: str, limit: int
) -> None:
    user = attempts(platform)
    remote_id = user.publish(PHOTO).remote_id
    made = []
    for number in range(4):
        top = visit(simulator, platform, remote_id, f"{number}")
        made += [top, *(visit(simulator, platform, remote_id, f"{number} {n}", top) for n in range(number))]
    seen = read_all(user, remote_id, limit)
    assert sorted(seen) == sorted(made)


def test_what_is_written_meanwhile_hides_nothing_that_was_there(attempts: Any, simulator: Any) -> None:
    user = attempts("IG")
    remote_id = user.publish(PHOTO).remote_id
    made = [visit(simulator, "IG", remote_id, f"{number}") for number in range(5)]
    made += [visit(simulator, "IG", remote_id, "answer", made[0]) for _ in range(3)]
    seen = read_all(user, remote_id, 2, lambda: visit(simulator, "IG", remote_id, "another"))
    assert set(made) <= set(seen)


@pytest.mark.parametrize("cursor", ["no", "W10", "WyJhIiwiYiIsIiIsIiJd", "WyJhIiwiNTEiLCIiLCIiXQ"])
def test_a_place_that_instagram_never_named_is_no_cursor(attempts: Any, cursor: str) -> None:
    user = attempts("IG")
    with pytest.raises(ApiError) as refusal:
        user.connector.list_comments(user.account, "1", cursor=cursor)
    assert refusal.value.code == "VALIDATION_ERROR"


@pytest.mark.parametrize("platform", ["FB", "IG"])
def test_one_comment_is_read_with_what_a_hook_leaves_out(
    attempts: Any, simulator: Any, platform: str
) -> None:
    user = attempts(platform)
    remote_id = user.publish(PHOTO).remote_id
    top = visit(simulator, platform, remote_id, "first")
    answer = visit(simulator, platform, remote_id, "answer", top)
    listed = {one.id: one for one in user.connector.list_comments(user.account, remote_id).comments}
    for comment_id, parent_id in ((top, None), (answer, top)):
        found = user.connector.read_comment(user.account, comment_id)
        assert (found.id, found.text, found.parent_id) == (comment_id, listed[comment_id].text, parent_id)
        assert (found.created_at, found.author_name) == (listed[comment_id].created_at, "ann")
    with pytest.raises(PlatformRefusal) as refusal:
        user.connector.read_comment(user.account, "178000")
    assert refusal.value.kind is Refusal.PERMISSION


@pytest.mark.parametrize("platform", ["FB", "IG"])
def test_the_platform_is_asked_to_tell_of_comments_as_often_as_one_likes(
    attempts: Any, simulator: Any, platform: str
) -> None:
    user = attempts(platform)
    for _ in range(2):
        user.connector.subscribe(user.account)
    assert user.account.remote_account_id in simulator.call("GET", "meta/webhooks")["subscribed"]
    simulator.call("POST", f"accounts/{user.account.remote_account_id}/expire", expired=True)
    with pytest.raises(PlatformRefusal) as refusal:
        user.connector.subscribe(user.account)
    assert refusal.value.kind is Refusal.EXPIRED


def test_answers_that_instagrams_list_leaves_out_are_asked_for(attempts: Any, monkeypatch: Any) -> None:
    user = attempts("IG")

    def row(number: int) -> dict[str, Any]:
        return {"id": f"{number}", "text": "x", "timestamp": f"2026-11-20T12:00:{number:02d}+0000"}

    shown = {"data": [row(1)], "paging": {"next": "https://elsewhere"}}
    asked = []

    def rows(account: Any, node: str, edge: str, **_: Any) -> Any:
        asked.append((node, edge))
        return iter([row(1), row(2), row(3)])

    graph = user.connector._graph
    monkeypatch.setattr(graph, "read", lambda *_, **__: {"data": [row(0) | {"replies": shown}]})
    monkeypatch.setattr(graph, "rows", rows)
    page = user.connector.list_comments(user.account, "1")
    assert [one.id for one in page.comments] == ["3", "2", "1", "0"]
    assert (page.comments[-1].reply_count, asked) == (3, [("0", "replies")])
