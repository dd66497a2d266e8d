"""Public files: ranges, conditions and limits, and headers that keep a stranger's file from running as part of our
site.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from contracts.errors import NOT_FOUND, SERVICE_UNAVAILABLE, ApiError
from contracts.media import LocatedFile, LocateFile
from gateway import services
from gateway.transfers.storage import Storage

PATH = "/media/" + "k" * 22 + "/cat.jpg"
FILE = bytes(range(200))
MADE_AT = datetime(2026, 11, 20, 12, 0, 0, 500_000, tzinfo=UTC)
LOCATED = LocatedFile(
    source_url="http://s3/1", mime_type="image/jpeg", size_bytes=200, etag='"abc"', created_at=MADE_AT
)
MODIFIED = "Fri, 20 Nov 2026 12:00:00 GMT"


class FakeDownload:
    def __init__(self, first: int, last: int) -> None:
        self.body = FILE[first : last + 1]
        self.closed = 0

    def __iter__(self) -> Iterator[bytes]:
        yield self.body[:10]
        yield self.body[10:]

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(autouse=True)
def downloads(bus: Any, monkeypatch: pytest.MonkeyPatch) -> list[FakeDownload]:
    found: list[FakeDownload] = []

    def get(_self: Storage, url: str, first: int, last: int) -> FakeDownload:
        assert url == "http://s3/1"
        found.append(FakeDownload(first, last))
        return found[-1]

    monkeypatch.setattr(Storage, "get", get)
    bus.answers["locate_file"] = LOCATED
    return found


@pytest.fixture
def client(client: Any) -> Any:
    """A client without a token."""
    del client.environ_base["HTTP_AUTHORIZATION"]
    return client


def test_a_file_is_served_to_anybody_with_headers_that_keep_it_harmless(client, bus, downloads) -> None:
    response = client.get(PATH)
    assert (response.status_code, response.data) == (200, FILE)
    headers = {name: response.headers[name] for name in (
        "Content-Type", "Content-Length", "ETag", "Last-Modified", "Accept-Ranges", "X-Content-Type-Options",
        "Content-Security-Policy", "Cross-Origin-Resource-Policy", "Content-Disposition", "Cache-Control",
    )}  # fmt: skip
    assert headers == {
        "Content-Type": "image/jpeg", "Content-Length": "200", "ETag": '"abc"', "Last-Modified": MODIFIED,
        "Accept-Ranges": "bytes", "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox; default-src 'none'", "Cross-Origin-Resource-Policy": "cross-origin",
        "Content-Disposition": "inline; filename=cat.jpg", "Cache-Control": "public, max-age=300",
    }  # fmt: skip
    assert bus.asked("locate_file")[0][1] == LocateFile(key="k" * 22, filename="cat.jpg")
    assert bus.asked("authenticate") == []
    response.close()
    assert downloads[0].closed


def test_a_stranger_cannot_have_a_file_converted_for_a_platform(client, bus) -> None:
    client.get(f"{PATH}?platform=IG").close()
    assert bus.asked("locate_file")[0][1] == LocateFile(key="k" * 22, filename="cat.jpg")


def test_head_says_the_same_without_asking_storage(client, downloads) -> None:
    response = client.head(PATH)
    assert (response.status_code, response.data, response.headers["Content-Length"]) == (200, b"", "200")
    assert client.head(PATH, headers={"Range": "bytes=0-9"}).headers["Content-Length"] == "200"
    assert downloads == []


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [("bytes=0-0", 0, 0), ("bytes=10-19", 10, 19), ("bytes=190-", 190, 199), ("bytes=-5", 195, 199),
     ("bytes=150-9999", 150, 199)],
)  # fmt: skip
def test_a_range_is_answered_with_itself(client, asked: str, first: int, last: int) -> None:
    response = client.get(PATH, headers={"Range": asked})
    assert (response.status_code, response.data) == (206, FILE[first : last + 1])
    assert response.headers["Content-Range"] == f"bytes {first}-{last}/200"
    assert response.headers["Content-Length"] == str(last - first + 1)


@pytest.mark.parametrize("asked", ["bytes=0-1,5-6", "bytes=5-1", "lines=0-1", "bytes=x-y", "bytes", ""])
def test_other_ranges_get_the_whole(client, asked: str) -> None:
    response = client.get(PATH, headers={"Range": asked})
    assert (response.status_code, response.data) == (200, FILE)


@pytest.mark.parametrize("asked", ["bytes=200-", "bytes=900-901"])
def test_a_range_behind_the_end_is_416_with_the_size(client, downloads, asked: str) -> None:
    response = client.get(PATH, headers={"Range": asked})
    assert (response.status_code, response.data) == (416, b"")
    assert response.headers["Content-Range"] == "bytes */200"
    assert downloads == []


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        ('"abc"', 206),
        ('"old"', 200),
        (MODIFIED, 206),
        ("Fri, 20 Nov 2026 11:00:00 GMT", 200),
        ('W/"abc"', 200),
    ],
)
def test_a_range_of_another_state_of_the_file_gets_the_whole(client, condition: str, status: int) -> None:
    response = client.get(PATH, headers={"Range": "bytes=0-1", "If-Range": condition})
    assert response.status_code == status


@pytest.mark.parametrize(
    "headers",
    [{"If-None-Match": '"abc"'}, {"If-None-Match": '"x", W/"abc"'}, {"If-None-Match": "*"},
     {"If-Modified-Since": MODIFIED}, {"If-Modified-Since": "Fri, 20 Nov 2026 13:00:00 GMT"}],
)  # fmt: skip
def test_a_file_the_client_has_is_304_without_a_body(client, downloads, headers: dict[str, str]) -> None:
    response = client.get(PATH, headers=headers)
    assert (response.status_code, response.data, response.headers["ETag"]) == (304, b"", '"abc"')
    assert downloads == []


@pytest.mark.parametrize(
    "headers",
    [{"If-None-Match": '"x"', "If-Modified-Since": MODIFIED}, {"If-Modified-Since": "Fri, 20 Nov 2026 11:00:00 GMT"},
     {"If-Modified-Since": "yesterday"}],
)  # fmt: skip
def test_a_file_the_client_has_not_is_sent(client, headers: dict[str, str]) -> None:
    assert client.get(PATH, headers=headers).status_code == 200


def test_a_file_that_is_not_there_is_a_404_like_any_other(client, bus) -> None:
    bus.answers["locate_file"] = ApiError(NOT_FOUND)
    assert client.get(PATH).json["code"] == "NOT_FOUND"
    assert client.get("/media/" + "k" * 22 + "/a%00b.jpg").json["code"] == "NOT_FOUND"
    assert client.get("/media/%2e%2e/%2e%2e").json["code"] == "NOT_FOUND"


def test_media_or_storage_away_is_a_503(client, bus, monkeypatch) -> None:
    def away(*_given: Any) -> None:
        raise ApiError(SERVICE_UNAVAILABLE)

    monkeypatch.setattr(Storage, "get", away)
    assert client.get(PATH).json["code"] == "SERVICE_UNAVAILABLE"
    bus.answers["locate_file"] = ApiError(SERVICE_UNAVAILABLE)
    assert client.get(PATH.replace("cat", "dog")).status_code == 503


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Downloads do not wait for a slot: without a free one they fail at once."""
    monkeypatch.setattr(services, "DOWNLOAD_WAIT_SECONDS", 0)


def test_slots_are_released_however_a_download_ends(make_gateway, monkeypatch, impatient) -> None:
    client = make_gateway(downloads_at_once=1)
    for _ in range(3):
        client.get(PATH, buffered=True).close()
    held = client.get(PATH)
    assert client.get(PATH).status_code == 503
    held.close()
    monkeypatch.setattr(Storage, "get", lambda *_given: (_ for _ in ()).throw(ApiError(NOT_FOUND)))
    assert [client.get(PATH).status_code for _ in range(2)] == [404, 404]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("203.0.113.1", "203.0.113.2"),
        ("2001:db8::1", "2001:db8:0:1::1"),
        ("::ffff:203.0.113.1", "203.0.113.2"),
    ],
)
def test_one_address_cannot_take_every_slot(make_gateway, impatient, one: str, other: str) -> None:
    client = make_gateway(downloads_at_once=8)

    def get(address: str) -> Any:
        return client.get(PATH, environ_base={"REMOTE_ADDR": address})

    taken = [get(one) for _ in range(8)]
    assert [response.status_code for response in taken] == [200] * 4 + [503] * 4
    assert get(other).status_code == 200


def test_the_addresses_of_one_network_of_ipv6_are_one_clients(make_gateway, impatient) -> None:
    client = make_gateway(downloads_at_once=2)
    taken = [client.get(PATH, environ_base={"REMOTE_ADDR": f"2001:db8::{n}"}) for n in (1, 2)]
    assert [response.status_code for response in taken] == [200, 503]


def test_behind_a_trusted_proxy_the_client_is_who_it_says(make_gateway, impatient) -> None:
    client = make_gateway(downloads_at_once=2, trusted_proxy_hops=1)
    taken = [client.get(PATH, headers={"X-Forwarded-For": f"10.9.9.9, 203.0.113.{n}"}) for n in (1, 1, 2)]
    assert [response.status_code for response in taken] == [200, 503, 200]
