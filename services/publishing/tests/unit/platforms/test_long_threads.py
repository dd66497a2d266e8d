"""A comment with more replies than we read: those that were read are shown, and they hide no other comment."""

from typing import Any

import pytest

from publishing.platforms.base import Account, CommentQuery
from publishing.platforms.http_client import HttpClient, Response
from publishing.platforms.registry import connectors, default_settings

_URN = "urn:li:comment:(urn:li:activity:1,{})"
_GOES_ON = {"next": "there", "cursors": {"after": "x"}}
#: What tells the list of replies from that of comments, a page of the one, and all of the other.
LISTS: dict[str, tuple[str, Any, Any]] = {
    "IG": (
        "/replies",
        {"data": [{"id": "3"}], "paging": _GOES_ON},
        {"data": [{"id": "1"}, {"id": "2", "replies": {"data": [{"id": "3"}], "paging": _GOES_ON}}]},
    ),
    "LN": (
        "urn%3Ali%3Acomment",
        {"elements": [{"commentUrn": _URN.format(3)}] * 100},
        {
            "elements": [
                {"commentUrn": _URN.format(1)},
                {"commentUrn": _URN.format(2), "commentsSummary": {"totalFirstLevelComments": 9_000}},
            ]
        },
    ),
    "YT": (
        "/comments?",
        {"items": [{"id": "3"}], "nextPageToken": "x"},
        {
            "items": [
                {"snippet": {"topLevelComment": {"id": "1"}}},
                {"snippet": {"topLevelComment": {"id": "2"}, "totalReplyCount": 9_000}},
            ]
        },
    ),
}


@pytest.mark.parametrize("platform", LISTS)
def test_replies_without_end_are_read_so_far_and_hide_no_comment(
    platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_replies, replies, comments = LISTS[platform]

    def send(wire: HttpClient, method: str, url: str, **options: Any) -> Response:
        return Response(200, {}, replies if of_replies in url else comments)

    monkeypatch.setattr(HttpClient, "send", send)
    connector = connectors(default_settings())[platform]
    found = connector.list_comments(
        Account("urn:li:person:1", "token"), CommentQuery("urn:li:share:1", limit=9_999)
    )
    names = {comment.id if platform != "LN" else comment.id[-2] for comment in found.comments}
    assert names == {"1", "2", "3"}
    assert len(found.comments) > 5
