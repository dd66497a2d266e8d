"""What an answer of the Graph API says about the outcome, if it is broken or missing. The simulator cannot send such
answers.
"""

import hashlib
import hmac
import http.server
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from publishing.platforms.base import (
    Account,
    Checkpoint,
    Connector,
    Content,
    MediaSource,
    NotPublished,
    OpenAttempt,
    OutcomeUnknown,
    PlatformRefusal,
    Published,
    Refusal,
    StillUnknown,
)
from publishing.platforms.facebook.connector import FacebookConnector
from publishing.platforms.http_client import iso_time
from publishing.platforms.instagram.connector import InstagramConnector
from publishing.platforms.meta.graph import next_cursor
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.post_matching import content_hash, same_text, window_start

ACCOUNT = Account("1001", "token-1")
TEXT = Content("hello")
PHOTO = Content("hello", (MediaSource("photo", "https://example.com/a.jpg"),))

Scripted = tuple[int, Any]


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        self.server.connections += 1  # type: ignore[attr-defined]
        super().setup()

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append(self)  # type: ignore[attr-defined]
        self.server.paths.append(self.path)  # type: ignore[attr-defined]
        status, body = self.server.script.pop(0)  # type: ignore[attr-defined]
        if status == 0:
            self.close_connection = True
            return
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = _answer

    def log_message(self, *_: object) -> None:
        pass


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script: list[Scripted] = []
        #: Of each call; calls over the same connection have one handler, which knows the last.
        self.seen: list[_Handler] = []
        self.paths: list[str] = []
        self.connections = 0


@pytest.fixture
def graph() -> Iterator[_Server]:
    with _Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def _settings(port: int, **more: Any) -> MetaSettings:
    url = f"http://127.0.0.1:{port}"
    return MetaSettings(
        facebook_url=url, instagram_url=url, poll_seconds=0.01, poll_limit_seconds=0.05, **more
    )


def _facebook(graph: _Server, *script: Scripted, **more: Any) -> FacebookConnector:
    graph.script = list(script)
    return FacebookConnector(_settings(graph.server_address[1], **more))


def _instagram(graph: _Server, *script: Scripted) -> InstagramConnector:
    graph.script = list(script)
    return InstagramConnector(_settings(graph.server_address[1]))


def _publish(connector: Connector, content: Content = TEXT, **stored: Any) -> Published:
    return connector.publish(ACCOUNT, content, Checkpoint(stored))


def _look_up(connector: Connector, content: Content = TEXT, **stored: Any) -> Any:
    return connector.look_up(OpenAttempt(ACCOUNT, content, Checkpoint(stored), datetime.now(UTC)))


def _error(code: int, subcode: int | None = None) -> dict[str, Any]:
    return {"error": {"code": code, "error_subcode": subcode, "message": "m"}}


@pytest.mark.parametrize(
    "answer",
    [
        (0, None), (500, {}), (502, b"<html>"), (503, _error(190)), (504, b""), (500, _error(2)), (400, _error(1)),
        (400, _error(2)), (400, b"<html>"), (403, {}), (200, b"no json"), (200, {}), (200, []), (200, {"id": ""}),
        (302, b""), (404, {"error": "text"}),
    ],
)  # fmt: skip
def test_a_create_without_a_clear_answer_is_unknown_and_is_sent_once(
    graph: _Server, answer: Scripted
) -> None:
    with pytest.raises(OutcomeUnknown):
        _publish(_facebook(graph, answer, (200, {"id": "1001_2"})))
    assert len(graph.seen) == 1


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((400, _error(190)), Refusal.EXPIRED),
        ((403, _error(200)), Refusal.PERMISSION),
        ((429, b"slow down"), Refusal.RATE_LIMITED),
        ((400, _error(100)), Refusal.REJECTED),
        ((200, _error(368)), Refusal.REJECTED),
        ((400, _error(9007, 2207027)), Refusal.TRANSIENT),
    ],
)
def test_a_create_that_is_clearly_refused_is_a_refusal(
    graph: _Server, answer: Scripted, kind: Refusal
) -> None:
    with pytest.raises(PlatformRefusal) as refusal:
        _publish(_facebook(graph, answer))
    assert refusal.value.kind is kind


@pytest.mark.parametrize(
    "answer",
    [(0, None), (500, _error(190)), (500, _error(32)), (502, b"<html>"), (200, b"x"), (302, b""), (401, {})],
)
def test_a_read_without_a_clear_answer_is_transient(graph: _Server, answer: Scripted) -> None:
    with pytest.raises(PlatformRefusal) as refusal:
        _facebook(graph, answer).profile(ACCOUNT)
    assert (refusal.value.kind, refusal.value.wait_seconds) == (Refusal.TRANSIENT, None)


def _check_unreachable(settings: MetaSettings) -> None:
    with pytest.raises(PlatformRefusal) as refusal:
        _publish(FacebookConnector(settings))
    assert (refusal.value.kind, refusal.value.code) == (Refusal.TRANSIENT, "UNREACHABLE")


def test_a_refused_connection_is_transient() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        _check_unreachable(_settings(closed.getsockname()[1]))


def test_a_name_that_is_not_known_is_transient(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*arguments: Any, **more: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    _check_unreachable(MetaSettings(facebook_url="http://graph.facebook.invalid"))


def test_a_connection_that_cannot_be_made_in_time_is_transient() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        settings = _settings(full.getsockname()[1], connect_timeout_seconds=0.1, read_timeout_seconds=0.1)
        with pytest.raises(PlatformRefusal) as refusal:
            _publish(FacebookConnector(settings))
        assert (refusal.value.kind, refusal.value.code) == (Refusal.TRANSIENT, "TIMED_OUT")
        for one in waiting:
            one.close()


def test_the_token_travels_in_a_header_signed_with_the_apps_secret(graph: _Server) -> None:
    _facebook(graph, (200, {"name": "A"}), app_secret="s").profile(ACCOUNT)
    [request] = graph.seen
    query = parse_qs(urlsplit(request.path).query)
    assert request.headers["Authorization"] == "Bearer token-1"
    assert query["appsecret_proof"] == [hmac.new(b"s", b"token-1", hashlib.sha256).hexdigest()]
    assert "token-1" not in request.path
    assert urlsplit(request.path).path == "/v26.0/1001"


def test_connections_are_kept(graph: _Server) -> None:
    connector = _facebook(graph, *[(200, {"id": "1001_2"})] * 5)
    for _ in range(5):
        _publish(connector)
    assert graph.connections == 1


def test_an_id_from_elsewhere_stays_one_part_of_the_address(graph: _Server) -> None:
    _facebook(graph, (200, {"id": "1"})).reply(ACCOUNT, "../me?x=/y", "text")
    assert graph.seen[0].path == "/v26.0/..%2Fme%3Fx%3D%2Fy/comments"


def test_an_answer_without_details_makes_a_published_post_all_the_same(graph: _Server) -> None:
    assert _publish(_facebook(graph, (200, {"id": "1001_2"}))) == Published(
        "1001_2", "https://www.facebook.com/1001_2"
    )
    answers = [(200, {"id": "77"}), (200, {"status_code": "FINISHED"}), (200, {"id": "88"}), (500, b"")]
    assert _publish(_instagram(graph, *answers), PHOTO) == Published("88")


def test_a_list_that_does_not_end_is_no_proof_that_a_post_is_missing(graph: _Server) -> None:
    page = {"data": [], "paging": {"next": "https://evil.example/", "cursors": {"after": "x"}}}
    with pytest.raises(PlatformRefusal) as refusal:
        _look_up(_facebook(graph, *[(200, page)] * 10))
    assert refusal.value.retryable


def _row(**more: Any) -> dict[str, Any]:
    return {"id": "1001_5", "message": "hello"} | more


def _made_now(row: dict[str, Any]) -> dict[str, Any]:
    return {"created_time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S+0000")} | row


def _attachment(**row: Any) -> dict[str, Any]:
    return {"attachments": {"data": [row]}}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (_row(message="hello \n\n there "), "hello\r\nthere"),
        (_row(message="e\u0301"), "é"),
        (_row(**_attachment(type="video_share_youtube", media_type="video")), "hello"),
        (_row(**_attachment(type="share", media_type="link")), "hello"),
        (_row(**_attachment(type="event", media_type="event")), "hello"),
        (_row(message="x https://facebook.com/p/1", **_attachment(type="photo", media_type="photo")),
         "x https://facebook.com/p/1"),
        (_row(created_time=None), "hello"),
    ],
)  # fmt: skip
def test_a_text_is_recognised_whatever_facebook_made_of_it(
    graph: _Server, row: dict[str, Any], message: str
) -> None:
    found = _look_up(_facebook(graph, (200, {"data": [_made_now(row)]})), Content(message))
    assert isinstance(found, Published)


def test_an_album_is_recognised_by_its_staged_photos_alone(graph: _Server) -> None:
    album = Content("hello", PHOTO.media * 2)
    inner = [{"type": "photo", "media_type": "photo", "target": {"id": str(number)}} for number in (7, 8)]
    row = _made_now(_row(message="changed", **_attachment(type="album", subattachments={"data": inner})))
    assert isinstance(
        _look_up(_facebook(graph, (200, {"data": [row]})), album, photo_ids=["7", "8"]), Published
    )
    assert _look_up(_facebook(graph, (200, {"data": [row]})), album, photo_ids=["1", "2"]) == NotPublished(
        settled=False
    )


@pytest.mark.parametrize("status", ["PUBLISHED", "FINISHED", "IN_PROGRESS", "ERROR", "EXPIRED"])
def test_a_container_says_whether_a_missing_post_can_still_come(graph: _Server, status: str) -> None:
    outcome = _look_up(
        _instagram(graph, (200, {"status_code": status}), (200, {"data": []})), PHOTO, container_id="7"
    )
    expected = (
        StillUnknown() if status == "PUBLISHED" else NotPublished(settled=status in ("ERROR", "EXPIRED"))
    )
    assert outcome == expected


@pytest.mark.parametrize(("count", "is_found"), [(1, True), (2, False)])
def test_a_published_containers_post_is_found_under_another_caption_if_there_is_only_one(
    graph: _Server, count: int, is_found: bool
) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S+0000")
    rows = [{"id": str(n), "caption": "other", "media_type": "IMAGE", "timestamp": now} for n in range(count)]
    outcome = _look_up(
        _instagram(graph, (200, {"status_code": "PUBLISHED"}), (200, {"data": rows})), PHOTO, container_id="7"
    )
    assert isinstance(outcome, Published) == is_found


def test_a_refused_publish_of_a_container_that_is_out_is_unknown(graph: _Server) -> None:
    answers = [
        (200, {"id": "77"}), (200, {"status_code": "FINISHED"}), (400, _error(24, 2207006)),
        (200, {"status_code": "PUBLISHED"}),
    ]  # fmt: skip
    with pytest.raises(OutcomeUnknown):
        _publish(_instagram(graph, *answers), PHOTO)


@pytest.mark.parametrize(
    ("answers", "is_enough"),
    [
        ([(200, {"success": True}), (400, _error(10))], True),
        ([(400, _error(100)), (200, {"success": True})], True),
        ([(400, _error(100)), (400, _error(10))], False),
    ],
    ids=["Facebook's login", "Instagram's login", "no permission"],
)
def test_instagrams_comments_are_subscribed_to_for_the_page_and_for_the_account(
    graph: _Server, answers: list[Scripted], is_enough: bool
) -> None:
    with nullcontext() if is_enough else pytest.raises(PlatformRefusal):
        _instagram(graph, *answers).subscribe(ACCOUNT)
    assert graph.paths == ["/v26.0/me/subscribed_apps", "/v26.0/1001/subscribed_apps"]


@pytest.mark.parametrize("code", [190, 4, 2])
def test_a_subscription_that_may_still_work_or_has_no_token_is_asked_for_once(
    graph: _Server, code: int
) -> None:
    with pytest.raises(PlatformRefusal):
        _instagram(graph, (400, _error(code))).subscribe(ACCOUNT)
    assert len(graph.seen) == 1


def test_shares_are_unknown_when_insights_fail(graph: _Server) -> None:
    for insight in ((400, _error(10)), (200, {"data": []}), (200, {"data": [{"values": []}]})):
        counts = _instagram(graph, (200, {"like_count": 3}), insight).engagement(ACCOUNT, "5")
        assert (counts.likes, counts.comments, counts.shares) == (3, 0, None)


def test_an_attempt_is_looked_for_from_well_before_it_began_and_never_from_the_future() -> None:
    now = datetime.now(UTC)
    assert window_start(now - timedelta(days=1)) < now - timedelta(days=1, minutes=5)
    assert window_start(now + timedelta(days=1)) < now


def test_a_fingerprint_changes_with_everything_that_is_shown() -> None:
    marks = {
        content_hash(content)
        for content in (
            TEXT, PHOTO, Content("hello", PHOTO.media * 2), Content("hello!"), Content("hello", settings={"link": "x"}),
            Content("hello", (MediaSource("video", "https://example.com/a.jpg"),)),
            Content("hello", (MediaSource("photo", body=b"a"),)), Content("hello", (MediaSource("photo", body=b"b"),)),
        )
    }  # fmt: skip
    assert len(marks) == 8
    typed = MediaSource("photo", "https://example.com/a.jpg", content_type="image/jpeg")
    assert content_hash(PHOTO) == content_hash(Content("hello", (typed,)))


def test_small_readers_take_what_comes() -> None:
    assert iso_time("2026-08-07T12:34:56+0200") == datetime(2026, 8, 7, 10, 34, 56, tzinfo=UTC)
    assert iso_time(None) is None
    assert iso_time("yesterday") is None
    assert next_cursor({"paging": {"cursors": {"after": "x"}}}) is None
    assert same_text("", None)
    assert not same_text("a", "A")


def test_half_an_emoji_in_an_answer_comes_as_a_question_mark(graph: _Server) -> None:
    error = {"error": {"code": 368, "message": "blocked \ud83d here"}}
    with pytest.raises(PlatformRefusal) as refusal:
        _publish(_facebook(graph, (400, json.dumps(error).encode())))
    assert refusal.value.message == "blocked ? here"
