"""Uploads: where the bytes go, when they are refused, and that a refused upload leaves nothing behind."""

import errno
import io
import tempfile
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from chassis.bus.pending import ServiceAway
from contracts import media
from contracts.errors import NOT_FOUND, QUOTA_EXCEEDED, SERVICE_UNAVAILABLE, ApiError
from contracts.plans import PLANS
from contracts.record import Nothing
from gateway import exchange, services
from gateway.config import Config
from gateway.http.multipart import BLOCK_BYTES
from gateway.routes.media import upload

JPEG = b"\xff\xd8\xff" + bytes(range(256)) * 64
#: Larger than one block: its size is computed in advance.
LONG = JPEG * (3 * BLOCK_BYTES // len(JPEG))
QUOTA = media.Storage(used_bytes=1, limit_bytes=2, remaining_bytes=1)


@pytest.fixture(autouse=True)
def service(bus: Any, kit: Any) -> None:
    """Sets the answers of media that an upload needs."""
    ticket = media.UploadTicket(upload_id="upl_1", url="http://s3/1", headers={"X": "1"}, expires_at=kit.NOW)
    uploaded = media.UploadedMedia(
        media_id="med_1", filename="a.jpg", mime_type="image/jpeg", size_bytes=1, type="photo", url="http://x/1",
        scheduled_post_id=None, created_at=kit.NOW, tier="pro", quota=QUOTA,
    )  # fmt: skip
    bus.answers |= {"begin_upload": ticket, "commit_upload": uploaded, "abort_upload": Nothing()}


def part(name: str, content: bytes, filename: str | None = None, mime_type: str = "image/jpeg") -> bytes:
    named = "" if filename is None else f'; filename="{filename}"\r\nContent-Type: {mime_type}'
    head = f'--bnd\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n'
    return head.encode() + content + b"\r\n"


def send(
    client,
    body: bytes | io.BytesIO,
    *,
    chunked: bool = False,
    claimed: int | None = None,
    boundary: str = "bnd",
) -> Any:
    stream = io.BytesIO(body) if isinstance(body, bytes) else body
    environ: dict[str, Any] = {
        "wsgi.input": stream,
        "CONTENT_LENGTH": str(claimed or len(stream.getbuffer())),
    }
    if chunked:
        environ |= {"HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_LENGTH": ""}
    return client.post(
        "/api/v1/media/upload",
        content_type=f"multipart/form-data; boundary={boundary}",
        environ_overrides=environ,
        input_stream=environ["wsgi.input"],
    )


class Telling(io.BytesIO):
    """A body that calls `then` once, when only its last 20 bytes are left to read."""

    def __init__(self, body: bytes, then: Callable[[], None]) -> None:
        super().__init__(body)
        self._left, self._then = len(body) - 20, then

    def read(self, most: int | None = -1) -> bytes:
        if self._left == 0:
            self._left = -1
            self._then()
        block = super().read(most if self._left < 0 or most is None else min(most, self._left))
        self._left -= len(block) if self._left > 0 else 0
        return block


@pytest.fixture
def spooled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """After each write, the total size in bytes of all temporary files."""
    files: list[Any] = []
    sizes: list[int] = []

    class Spool(tempfile.SpooledTemporaryFile[bytes]):
        def write(self, block: Any) -> int:
            files.extend([self] if self not in files else [])
            written = super().write(block)
            sizes.append(sum(file.tell() for file in files if file._rolled and not file.closed))
            return written

    monkeypatch.setattr(tempfile, "SpooledTemporaryFile", Spool)
    return sizes


def refused_with(response: Any, status: int, code: str) -> None:
    assert (response.status_code, response.json["code"]) == (status, code)


@pytest.mark.parametrize("content", [JPEG, LONG, b"", b"\r\n--bn"], ids=["short", "long", "empty", "almost"])
@pytest.mark.parametrize("chunked", [False, True])
def test_the_bytes_go_to_storage_as_they_are_with_their_size_said_before(
    client, bus, storage, content: bytes, chunked: bool
) -> None:
    body = part("note", b"before") + part("file", content, "a.jpg") + b"--bnd--\r\n"
    response = send(client, body, chunked=chunked)
    assert response.status_code == 201
    assert response.json["media_id"] == "med_1"
    [(_, begin)] = bus.asked("begin_upload")
    assert begin == media.BeginUpload(filename="a.jpg", mime_type="image/jpeg", size_bytes=len(content))
    assert storage.kept == {"http://s3/1": content}
    assert bus.asked("commit_upload")[0][1] == media.CommitUpload(upload_id="upl_1", size_bytes=len(content))
    assert bus.asked("abort_upload") == []


@pytest.mark.parametrize(
    "after",
    [part("note", b"x"), part("note", b"y" * BLOCK_BYTES), b"--bnd\r\n"],
    ids=["a value", "a long value", "a boundary"],
)
def test_a_part_behind_a_long_file_is_refused_with_what_to_do_and_nothing_is_kept(
    client, bus, storage, after: bytes
) -> None:
    response = send(client, part("file", LONG, "a.jpg") + after + b"--bnd--\r\n")
    refused_with(response, 400, "UPLOAD_ERROR")
    assert "last part" in response.json["error"]
    assert storage.kept == {}
    assert [request.upload_id for _, request in bus.asked("abort_upload")] == ["upl_1"]
    assert bus.asked("commit_upload") == []


def test_64_kib_before_the_file_are_too_much_in_however_many_parts(client, storage) -> None:
    before = part("a", b"x" * 40_960) + part("b", b"x" * 40_960)
    refused_with(send(client, before + part("file", JPEG, "a.jpg") + b"--bnd--\r\n"), 400, "UPLOAD_ERROR")
    assert storage.kept == {}


def test_what_stands_behind_a_short_file_does_not_matter(client, storage) -> None:
    body = part("file", JPEG, "a.jpg") + part("note", b"x") + b"--bnd--"
    assert send(client, body).status_code == 201
    assert storage.kept == {"http://s3/1": JPEG}


def test_a_missing_last_line_break_is_refused_unless_the_client_is_known_to_leave_it_out(
    client, storage
) -> None:
    bare = part("file", LONG, "a.jpg") + b"--bnd--"
    response = send(client, bare)
    refused_with(response, 400, "UPLOAD_ERROR")
    assert "line break" in response.json["error"]
    undici = "----formdata-undici-012345678901"
    assert send(client, bare.replace(b"bnd", undici.encode()), boundary=undici).status_code == 201
    assert storage.kept == {"http://s3/1": LONG}


@pytest.mark.parametrize("content", [JPEG, LONG])
def test_a_client_that_goes_away_in_the_middle_leaves_nothing(client, bus, storage, content: bytes) -> None:
    whole = part("file", content, "a.jpg") + b"--bnd--\r\n"
    refused_with(send(client, whole[: len(whole) // 2], claimed=len(whole)), 400, "UPLOAD_ERROR")
    refused_with(send(client, whole[:-10], claimed=len(whole)), 400, "UPLOAD_ERROR")
    assert storage.kept == {}
    assert len(bus.asked("begin_upload")) == len(bus.asked("abort_upload"))
    assert bus.asked("commit_upload") == []


def test_an_upload_waits_in_the_gateway_while_media_is_busy(client, bus, storage, monkeypatch) -> None:
    monkeypatch.setattr(exchange, "_BUSY_PAUSE_SECONDS", 0.0)
    uploaded, refusals = bus.answers["commit_upload"], iter([ApiError(SERVICE_UNAVAILABLE)] * 3)

    def commit(_caller: Any, _request: Any) -> Any:
        for refusal in refusals:
            raise refusal
        return uploaded

    bus.answers["commit_upload"] = commit
    assert send(client, part("file", JPEG, "a.jpg") + b"--bnd--\r\n").status_code == 201
    assert len(bus.asked("commit_upload")) == 4
    assert len(bus.asked("begin_upload")) == 1
    assert len(storage.kept) == 1


def test_an_upload_is_refused_when_media_stays_busy_for_the_whole_time(
    client, bus, storage, monkeypatch
) -> None:
    monkeypatch.setattr(exchange, "_BUSY_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(upload, "_COMMIT_SECONDS", 0.1)
    bus.answers["commit_upload"] = ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=5)
    response = send(client, part("file", JPEG, "a.jpg") + b"--bnd--\r\n")
    refused_with(response, 503, "SERVICE_UNAVAILABLE")
    assert bus.asked("commit_upload")


def test_an_upload_is_refused_at_once_while_media_is_away(client, bus, storage) -> None:
    bus.answers["commit_upload"] = ServiceAway(SERVICE_UNAVAILABLE, retry_after_seconds=1)
    response = send(client, part("file", JPEG, "a.jpg") + b"--bnd--\r\n")
    refused_with(response, 503, "SERVICE_UNAVAILABLE")
    assert len(bus.asked("commit_upload")) == 1


def test_an_upload_that_outlives_its_reservation_is_told_to_upload_in_parts(client, bus, storage) -> None:
    bus.answers["commit_upload"] = ApiError(NOT_FOUND)
    response = send(client, part("file", JPEG, "a.jpg") + b"--bnd--\r\n")
    refused_with(response, 400, "UPLOAD_ERROR")
    assert "/media/uploads" in response.json["error"]


@pytest.mark.parametrize("chunked", [False, True])
def test_an_upload_that_takes_longer_than_a_reservation_is_ended_where_it_is(
    client, bus, storage, monkeypatch, chunked: bool
) -> None:
    now = [0.0]
    monkeypatch.setattr(upload, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def later() -> None:
        now[0] += 15 * 60 + 1

    body = Telling(part("file", LONG, "a.jpg") + b"--bnd--\r\n", later)
    response = send(client, body, chunked=chunked)
    refused_with(response, 400, "UPLOAD_ERROR")
    assert "/media/uploads" in response.json["error"]
    assert storage.kept == {}
    assert len(bus.asked("begin_upload")) == len(bus.asked("abort_upload")) == (0 if chunked else 1)


def test_storage_away_is_a_503_and_the_upload_is_aborted(client, bus, storage) -> None:
    storage.away = True
    refused_with(send(client, part("file", LONG, "a.jpg") + b"--bnd--\r\n"), 503, "SERVICE_UNAVAILABLE")
    assert len(bus.asked("abort_upload")) == 1


def test_a_busy_check_is_a_503_and_the_upload_is_aborted(client, bus) -> None:
    bus.answers["commit_upload"] = ApiError(SERVICE_UNAVAILABLE)
    refused_with(send(client, part("file", LONG, "a.jpg") + b"--bnd--\r\n"), 503, "SERVICE_UNAVAILABLE")
    assert [request.upload_id for _, request in bus.asked("abort_upload")] == ["upl_1"]


def test_media_that_does_not_hear_of_the_abort_does_not_hide_the_reason(client, bus, storage) -> None:
    bus.answers["abort_upload"] = ApiError(SERVICE_UNAVAILABLE)
    refused_with(
        send(client, part("file", LONG, "a.jpg") + part("x", b"") + b"--bnd--\r\n"), 400, "UPLOAD_ERROR"
    )


def test_what_media_refuses_is_refused_before_a_byte_is_sent(client, bus, storage) -> None:
    bus.answers["begin_upload"] = ApiError(QUOTA_EXCEEDED)
    refused_with(send(client, part("file", LONG, "a.jpg") + b"--bnd--\r\n"), 413, "QUOTA_EXCEEDED")
    assert storage.kept == {}


def test_a_file_larger_than_the_tier_takes_is_refused_by_its_length_alone(client, bus, kit, storage) -> None:
    bus.answers["authenticate"] = kit.identity(tier="free")
    most = PLANS["free"].max_file_bytes
    start = part("file", JPEG, "a.jpg")
    response = send(client, start, claimed=most + len(start))
    refused_with(response, 413, "FILE_TOO_LARGE")
    assert response.json["max_file_bytes"] == most
    assert bus.asked("begin_upload") == []


def test_a_file_of_unknown_length_is_counted_up_to_the_tiers_limit(client, bus, kit, storage) -> None:
    bus.answers["authenticate"] = kit.identity(tier="free")
    most = PLANS["free"].max_file_bytes
    fits = part("file", b"x" * most, "a.jpg") + b"--bnd--\r\n"
    assert send(client, fits, chunked=True).status_code == 201
    refused_with(send(client, fits.replace(b"\r\n\r\nx", b"\r\n\r\nxx"), chunked=True), 413, "FILE_TOO_LARGE")
    assert [len(kept) for kept in storage.kept.values()] == [most]


def test_all_temporary_files_together_stay_within_their_budget(
    make_gateway, storage, spooled: list[int]
) -> None:
    most = 2 * len(LONG)
    app = make_gateway(upload_spool_bytes=most)
    body, answers = part("file", LONG, "a.jpg") + b"--bnd--\r\n", []

    def upload(number: int) -> None:
        """Sends an upload, and begins the next one before this one ends."""
        following = (lambda: upload(number + 1)) if number < 3 else (lambda: None)
        client = app.application.test_client()
        client.environ_base |= app.environ_base
        answers.append(send(client, Telling(body, following), chunked=True))

    upload(1)
    third, second, first = answers
    refused_with(third, 503, "SERVICE_UNAVAILABLE")
    assert int(third.headers["Retry-After"]) > 0
    assert "Content-Length" in third.json["error"]
    assert [second.status_code, first.status_code] == [201, 201]
    assert most - BLOCK_BYTES < max(spooled) <= most
    assert send(app, body, chunked=True).status_code == 201


def test_uploads_that_need_no_temporary_file_succeed_without_a_budget(make_gateway, storage) -> None:
    app = make_gateway(upload_spool_bytes=0)
    refused_with(
        send(app, part("file", LONG, "a.jpg") + b"--bnd--\r\n", chunked=True), 503, "SERVICE_UNAVAILABLE"
    )
    assert send(app, part("file", LONG, "a.jpg") + b"--bnd--\r\n").status_code == 201
    assert send(app, part("file", JPEG, "a.jpg") + b"--bnd--\r\n", chunked=True).status_code == 201


def test_a_full_disk_is_a_503(client, storage, monkeypatch) -> None:
    class Full(tempfile.SpooledTemporaryFile[bytes]):
        def write(self, block: Any) -> int:
            raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(tempfile, "SpooledTemporaryFile", Full)
    body = part("file", LONG, "a.jpg") + b"--bnd--\r\n"
    refused_with(send(client, body, chunked=True), 503, "SERVICE_UNAVAILABLE")


def test_the_largest_file_of_every_tier_may_wait() -> None:
    most = Config(amqp_url="", database_url="").upload_spool_bytes
    assert most >= max(plan.max_file_bytes for plan in PLANS.values())


@pytest.mark.parametrize(
    "parts",
    [
        b"",
        part("photo", JPEG, "a.jpg"),
        part("file", b"a text"),
        part("file", b"", "", "application/octet-stream"),
    ],
    ids=["none", "another name", "no file", "none chosen"],
)
def test_no_part_named_file_is_no_file(client, bus, parts: bytes) -> None:
    refused_with(send(client, parts + b"--bnd--\r\n"), 400, "NO_FILE")
    assert bus.asked("begin_upload") == []


def test_a_file_without_a_type_is_sent_without_one(client, bus, storage) -> None:
    body = part("file", JPEG, "a.JPEG", "").replace(b"\r\nContent-Type: ", b"") + b"--bnd--\r\n"
    assert send(client, body).status_code == 201
    assert bus.asked("begin_upload")[0][1].mime_type == ""


def test_a_name_that_cannot_be_stored_is_an_upload_error(client) -> None:
    refused_with(send(client, part("file", JPEG, "a\0.jpg") + b"--bnd--\r\n"), 400, "UPLOAD_ERROR")


@pytest.mark.parametrize(
    "content_type", ["application/json", "text/plain", "multipart/mixed; boundary=bnd", ""]
)
def test_another_content_type_is_415(client, content_type: str) -> None:
    response = client.post("/api/v1/media/upload", data=b"{}", content_type=content_type)
    refused_with(response, 415, "UNSUPPORTED_MEDIA_TYPE")


def test_nothing_at_all_is_no_file(client) -> None:
    refused_with(client.post("/api/v1/media/upload"), 400, "NO_FILE")


def test_a_key_does_not_count_on_an_upload(client, storage) -> None:
    client.environ_base["HTTP_IDEMPOTENCY_KEY"] = "k" * 200
    body = part("file", JPEG, "a.jpg") + b"--bnd--\r\n"
    assert [send(client, body).status_code for _ in range(2)] == [201, 201]


def test_a_scope_is_asked_before_the_body_is_read(client, bus, kit) -> None:
    bus.answers["authenticate"] = kit.identity(scopes=("read:media",))
    refused_with(send(client, b"never looked at"), 403, "MISSING_SCOPE")


def test_one_account_alone_does_not_get_every_slot(make_gateway, bus, kit, storage, monkeypatch) -> None:
    monkeypatch.setattr(services, "UPLOAD_WAIT_SECONDS", 0)
    app = make_gateway(uploads_at_once=3)
    body, statuses = part("file", LONG, "a.jpg") + b"--bnd--\r\n", []

    def upload(then: Callable[[], None]) -> None:
        """Sends an upload, and calls `then` before it ends."""
        client = app.application.test_client()
        client.environ_base |= app.environ_base
        statuses.append(send(client, Telling(body, then)).status_code)

    def another_comes() -> None:
        upload(lambda: None)
        bus.on_reset()
        bus.answers["authenticate"] = kit.identity(account_id="usr_2")
        upload(lambda: None)

    upload(lambda: upload(another_comes))
    assert statuses == [503, 201, 201, 201]
