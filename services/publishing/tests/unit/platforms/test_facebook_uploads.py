"""Which host a Facebook video is sent to, and what happens when Facebook accepts no upload in pieces."""

from contextlib import nullcontext
from typing import Any
from urllib.parse import urlsplit

import pytest

from publishing.platforms.base import (
    Account,
    Checkpoint,
    Content,
    MediaSource,
    OutcomeUnknown,
    PlatformRefusal,
    Published,
)
from publishing.platforms.facebook.connector import FacebookConnector
from publishing.platforms.http_client import Response
from publishing.platforms.meta.settings import MetaSettings

ACCOUNT = Account("1001", "token-1")
SIZE = 10
VIDEO = MediaSource(
    "video", "https://files.example/a.mp4", content_type="video/mp4", size_bytes=SIZE,
    opener=lambda: nullcontext(iter((b"x" * SIZE,))),
)  # fmt: skip
READY = {"status": {"video_status": "ready"}, "post_id": "1001_7", "id": "1001_7"}
#: The answers of an upload in pieces, by phase.
PHASES: dict[str, dict[str, Any]] = {
    "start": {"upload_session_id": "5", "video_id": "6", "start_offset": "0", "end_offset": str(SIZE)},
    "transfer": {"start_offset": str(SIZE), "end_offset": str(SIZE)},
    "finish": {"success": True},
}


class Facebook:
    """Answers in place of `HttpClient`. `start` answers the first call of an upload in pieces."""

    def __init__(self) -> None:
        self.start = Response(200, {}, PHASES["start"])
        self.by_address: Response | Exception = Response(200, {}, {"id": "6"})
        #: (host, phase or file_url or read)
        self.calls: list[tuple[str, str]] = []

    def send(self, method: str, url: str, *, body: Any = None, **_: Any) -> Response:
        host, sent = (
            urlsplit(url).hostname or "",
            b"" if body is None else b"".join(map(bytes, [*_parts(body)])),
        )
        what = next(
            (name for name in ("transfer", "finish", "file_url", "start") if name.encode() in sent), "read"
        )
        self.calls.append((host, what))
        if what == "read":
            return Response(200, {}, READY)
        if what == "file_url":
            if isinstance(self.by_address, Exception):
                raise self.by_address
            return self.by_address
        return self.start if what == "start" else Response(200, {}, PHASES[what])


def _parts(body: Any) -> list[bytes]:
    return [body] if isinstance(body, bytes) else list(body)


@pytest.fixture
def facebook(monkeypatch: pytest.MonkeyPatch) -> Facebook:
    made = Facebook()
    monkeypatch.setattr("publishing.platforms.meta.graph.HttpClient", lambda settings: made)
    return made


def refused(code: int) -> Response:
    return Response(400, {}, {"error": {"code": code, "message": "no"}})


def publish(checkpoint: Checkpoint | None = None, video: MediaSource = VIDEO, **settings: Any) -> Published:
    connector = FacebookConnector(MetaSettings(poll_seconds=0.0, **settings))
    return connector.publish(ACCOUNT, Content("Moving", (video,)), checkpoint or Checkpoint())


def test_a_video_is_uploaded_to_facebooks_host_for_videos_and_read_from_the_graph(facebook: Facebook) -> None:
    publish()
    hosts = {what: host for host, what in facebook.calls}
    assert hosts == {**dict.fromkeys(PHASES, "graph-video.facebook.com"), "read": "graph.facebook.com"}


@pytest.mark.parametrize(
    ("settings", "host"),
    [
        ({"facebook_url": "https://proxy.example"}, "proxy.example"),
        ({"facebook_upload_url": "https://graph.facebook.com"}, "graph.facebook.com"),
        (
            {"facebook_url": "https://proxy.example", "facebook_upload_url": "https://up.example/"},
            "up.example",
        ),
    ],
)
def test_the_host_of_uploads_is_a_setting_and_follows_the_operators_own_address(
    facebook: Facebook, settings: dict[str, str], host: str
) -> None:
    publish(**settings)
    assert {host for host, what in facebook.calls if what in PHASES} == {host}


@pytest.mark.parametrize("code", [100, 12, 2500])
def test_a_video_goes_by_its_public_address_where_facebook_takes_no_pieces(
    facebook: Facebook, code: int
) -> None:
    facebook.start = refused(code)
    saved: list[dict[str, Any]] = []
    published = publish(Checkpoint({"session": {"id": "old"}}, saved.append))
    assert published.remote_id == "1001_7"
    assert [what for _, what in facebook.calls][:2] == ["start", "file_url"]
    assert saved[0] == {"is_handed_over": True}  # stored before the call that publishes
    assert saved[-1] == {"video_id": "6"}


def test_a_video_without_an_address_is_refused_where_facebook_takes_no_pieces(facebook: Facebook) -> None:
    facebook.start = refused(100)
    no_address = MediaSource("video", size_bytes=SIZE, opener=VIDEO.opener)
    with pytest.raises(PlatformRefusal):
        publish(video=no_address)
    assert [what for _, what in facebook.calls] == ["start"]


@pytest.mark.parametrize("code", [190, 200, 4, 2, 368, 352])
def test_any_other_refusal_of_an_upload_is_no_reason_for_a_second_way(facebook: Facebook, code: int) -> None:
    facebook.start = refused(code)
    with pytest.raises(PlatformRefusal) as refusal:
        publish()
    assert refusal.value.code == str(code)
    assert {what for _, what in facebook.calls} == {"start"}


def test_an_address_without_an_answer_is_an_unknown_outcome(facebook: Facebook) -> None:
    facebook.start, facebook.by_address = refused(100), OutcomeUnknown("no answer")
    checkpoint = Checkpoint()
    with pytest.raises(OutcomeUnknown):
        publish(checkpoint)
    assert checkpoint.values == {"is_handed_over": True}
    assert [what for _, what in facebook.calls] == ["start", "file_url"]
