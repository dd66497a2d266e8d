"""A list of comments whose replies take long to read: each call ends in time, and the next call continues where it
ended.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from publishing.platforms import lists
from publishing.platforms.base import Account, CommentPage, CommentQuery, Connector
from publishing.platforms.http_client import HttpClient, Response
from publishing.platforms.registry import connectors, default_settings

#: First comments, newest first; to each there is one reply, which has to be asked for.
_FIRST = range(30, 0, -1)
_CONNECT_AND_READ_SECONDS = 35.0
_URN = "urn:li:comment:(urn:li:activity:1,{})"


class Slow:
    """IG, LN or YT, with answers that take `answer_seconds` each. Its own clock moves only with these answers."""

    def __init__(self, platform: str, answer_seconds: float, pages_of_replies: int) -> None:
        self.platform, self.answer_seconds, self.now = platform, answer_seconds, 0.0
        self.pages_of_replies = pages_of_replies

    def send(self, wire: HttpClient, method: str, url: str, **options: Any) -> Response:
        self.now += self.answer_seconds
        asked = {name: value for name, [value] in parse_qs(urlsplit(url).query).items()}
        return Response(200, {}, getattr(self, self.platform)(unquote(urlsplit(url).path), asked))

    def IG(self, path: str, asked: dict[str, str]) -> Any:
        after, size = int(asked.get("after", "0")), int(asked["limit"])
        if path.endswith("/replies"):
            return {
                "data": [{"id": f"{path.split('/')[-2]}/{after}", "timestamp": _time(0)}],
                "paging": _paging(after + 1, after + 1 < self.pages_of_replies),
            }
        rows = [
            {"id": str(n), "timestamp": _time(n), "replies": {"data": [], "paging": _paging(0, True)}}
            for n in _FIRST[after : after + size]
        ]
        return {"data": rows, "paging": _paging(after + size, after + size < len(_FIRST))}

    def LN(self, path: str, asked: dict[str, str]) -> Any:
        start, size = int(asked["start"]), int(asked["count"])
        if "urn:li:comment" in path:
            number, count = path.split(",")[1].split(")")[0], size if self.pages_of_replies > 1 else 1
            return {"elements": [{"commentUrn": f"{number}/{start + n}"} for n in range(count)]}
        return {
            "elements": [
                {
                    "commentUrn": _URN.format(n),
                    "created": {"time": n * 1_000},
                    "commentsSummary": {"totalFirstLevelComments": 1},
                }
                for n in _FIRST[start : start + size]
            ]
        }

    def YT(self, path: str, asked: dict[str, str]) -> Any:
        start, size = int(asked.get("pageToken", "0")), int(asked["maxResults"])
        if path.endswith("/comments"):
            more = {"nextPageToken": str(start + 1)} if start + 1 < self.pages_of_replies else {}
            return {"items": [{"id": f"{asked['parentId']}/{start}"}], **more}
        rows = [
            {"snippet": {"topLevelComment": {"id": str(n), "snippet": {"publishedAt": _time(n)}}, "totalReplyCount": 1}}
            for n in _FIRST[start : start + size]
        ]  # fmt: skip
        return {"items": rows} | ({"nextPageToken": str(start + size)} if start + size < len(_FIRST) else {})


def _time(number: int) -> str:
    return f"2026-08-07T12:34:{number:02d}+0000"


def _paging(after: int, is_more: bool) -> Any:
    return {"next": "there", "cursors": {"after": str(after)}} if is_more else {}


def slow(platform: str, monkeypatch: pytest.MonkeyPatch, answer_seconds: float, pages: int = 1) -> Slow:
    made = Slow(platform, answer_seconds, pages)
    monkeypatch.setattr(HttpClient, "send", lambda *args, **options: made.send(*args, **options))
    monkeypatch.setattr(lists, "monotonic", lambda: made.now)
    return made


def read(connector: Connector, limit: int) -> Iterator[CommentPage]:
    cursor: str | None = None
    while True:
        page = connector.list_comments(
            Account("urn:li:person:1", "token"), CommentQuery("urn:li:share:1", limit=limit, cursor=cursor)
        )
        yield page
        cursor = page.next_cursor
        if cursor is None:
            return


def names(pages: list[CommentPage]) -> list[str]:
    ids = [comment.id for page in pages for comment in page.comments]
    return [name.split(",")[1].rstrip(")") if "," in name else name for name in ids]


@pytest.mark.parametrize("limit", [100, 3])
@pytest.mark.parametrize("answer_seconds", [0.1, 2.0, 8.0, _CONNECT_AND_READ_SECONDS])
@pytest.mark.parametrize("platform", ["IG", "LN", "YT"])
def test_each_call_ends_in_time_and_all_comments_come(
    platform: str, answer_seconds: float, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, taken, pages = slow(platform, monkeypatch, answer_seconds), [], []
    for page in read(connectors(default_settings())[platform], limit):
        pages.append(page)
        taken.append(clock.now - sum(taken))
        assert len(pages) <= 2 * len(_FIRST), "each page brings something, or ends behind a comment"
    assert max(taken) <= 20 + 2 * answer_seconds
    found = names(pages)
    assert len(found) == len(set(found))
    assert {str(number) for number in _FIRST} <= set(found)
    if answer_seconds < 20:
        assert {f"{number}/0" for number in _FIRST} <= set(found)


@pytest.mark.parametrize("platform", ["IG", "LN", "YT"])
def test_what_is_read_in_time_of_a_long_thread_is_shown(
    platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow(platform, monkeypatch, 8.0, pages=9_999)
    first = next(read(connectors(default_settings())[platform], 9_999))
    assert first.next_cursor is not None
    assert {"30", "30/0"} <= set(names([first]))
    assert "29" not in names([first])
