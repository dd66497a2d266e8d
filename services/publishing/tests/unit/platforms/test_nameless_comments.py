"""A row without an id in a platform's list of comments is skipped."""

from typing import Any

import pytest

from publishing.platforms.base import Account, CommentQuery
from publishing.platforms.http_client import HttpClient, Response
from publishing.platforms.registry import connectors, default_settings

NAMELESS: dict[str, Any] = {"snippet": {"topLevelComment": {}}, "replies": {"data": [{}], "comments": [{}]}}
ROWS = {
    "FB": {"data": [NAMELESS, {"id": "1"}]},
    "IG": {"data": [NAMELESS, {"id": "1", "replies": {"data": [{}]}}]},
    "TW": {"data": [NAMELESS, {"id": "1", "text": "hi", "created_at": "2026-11-23T08:00:00Z"}]},
    "YT": {"items": [NAMELESS, {"snippet": {"topLevelComment": {"id": "1"}}, "replies": {"comments": [{}]}}]},
}


@pytest.mark.parametrize("platform", ROWS)
def test_a_row_without_an_id_is_passed_over(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HttpClient, "send", lambda *args, **options: Response(200, {}, ROWS[platform]))
    connector = connectors(default_settings())[platform]
    found = connector.list_comments(Account("1001", "token"), CommentQuery("2002"))
    assert [comment.id for comment in found.comments] == ["1"]
