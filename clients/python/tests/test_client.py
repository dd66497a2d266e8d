"""Requests, records, errors, lists and uploads, as a program that uses the client sees them."""

import asyncio
import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from client_kit.misbehaving import LOST, MisbehavingServer, Reply, Request, error

import posthaste
from posthaste import UNSET, AsyncPosthaste, Posthaste, PosthasteError, UnexpectedAnswer, records
from posthaste.errors import (
    FAMILIES,
    IdempotencyError,
    InvalidRequest,
    OutcomeUnknown,
    PermissionDenied,
    ResourceError,
)

PAGE = {
    "id": "pag_1", "platform": "FB", "name": "Bakery", "username": None, "account_id": "1", "brand_id": "brd_1",
    "brand_name": "B", "followers": 3, "picture": None, "expired": False, "created_at": "2026-11-20T11:58:09.847Z",
}  # fmt: skip
FILE = {
    "media_id": "med_1", "filename": "a.jpg", "mime_type": "image/jpeg", "size_bytes": 5, "type": "photo", "url": "u",
    "scheduled_post_id": None, "created_at": "2026-11-20T11:58:09Z", "tier": "elite",
    "quota": {"used_bytes": 5, "limit_bytes": 10, "remaining_bytes": 5},
}  # fmt: skip


def test_an_argument_that_is_not_given_is_not_sent_and_none_is_null(
    client: Posthaste, server: MisbehavingServer
) -> None:
    server.mood = lambda: error(404, "NOT_FOUND")
    with pytest.raises(ResourceError):
        client.edit_post("pst_1", message=None, first_comment=UNSET)
    assert server.requests[0].json == {"message": None}
    assert (server.requests[0].method, server.requests[0].path) == ("PATCH", "/api/v1/posts/scheduled/pst_1")
    assert server.requests[0].headers["authorization"] == "Bearer svc_live_x"


def test_times_are_sent_with_their_zone_and_read_as_datetimes(
    client: Posthaste, server: MisbehavingServer
) -> None:
    post = client.publish_post(page_id="pag_1", message="now")
    assert post.published_at == datetime(2026, 11, 24, 9, 0, 0, 123_000, UTC)
    with pytest.raises(ValueError, match="has no time zone"):
        client.schedule_post(page_id="pag_1", scheduled_at=datetime(2026, 12, 1, 9))
    assert len(server.requests) == 1


def test_an_id_is_quoted_and_an_empty_one_refused(client: Posthaste, server: MisbehavingServer) -> None:
    server.mood = lambda: error(404, "NOT_FOUND")
    with pytest.raises(ResourceError):
        client.get_page("../me?x=1")
    assert server.requests[0].path == "/api/v1/pages/..%2Fme%3Fx%3D1"
    with pytest.raises(ValueError, match="id is empty"):
        client.get_page("")


@pytest.mark.parametrize("dots", [".", ".."])
def test_an_id_that_a_path_would_lose_is_refused(
    client: Posthaste, server: MisbehavingServer, dots: str
) -> None:
    with pytest.raises(ValueError, match="id is not an id"):
        client.get_page(dots)
    assert not server.requests


@pytest.mark.parametrize("base_url", ["/", "/api/v1", "/api/v1/"])
def test_the_base_url_may_end_with_the_base_path(server: MisbehavingServer, base_url: str) -> None:
    with Posthaste("t", base_url=server.url + base_url) as client:
        client.publish_post(page_id="pag_1")
    assert server.requests[0].path == "/api/v1/posts/publish"


def test_address_and_token_may_come_from_the_environment(
    server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTHASTE_URL", server.url)
    monkeypatch.setenv("POSTHASTE_TOKEN", "svc_live_env")
    with Posthaste() as client:
        client.publish_post(page_id="pag_1")
    assert server.requests[0].headers["authorization"] == "Bearer svc_live_env"


def test_a_missing_address_or_token_is_told_before_any_request(
    server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POSTHASTE_URL", raising=False)
    monkeypatch.delenv("POSTHASTE_TOKEN", raising=False)
    with pytest.raises(PosthasteError, match="base_url"):
        Posthaste("t")
    with Posthaste(base_url=server.url) as client, pytest.raises(PosthasteError, match="needs a token"):
        client.get_me()
    assert server.requests == []


def test_a_token_is_not_shown(client: Posthaste) -> None:
    assert "svc_live_x" not in repr(client._settings)


def test_an_error_has_its_family_code_request_id_and_fields(
    client: Posthaste, server: MisbehavingServer
) -> None:
    rules = [{"field": "message", "message": "Too long"}]
    server.next.append(error(400, "VALIDATION_ERROR", errors=rules))
    with pytest.raises(InvalidRequest) as raised:
        client.publish_post(page_id="pag_1")
    told = raised.value
    assert (told.code, told.status, told.request_id) == ("VALIDATION_ERROR", 400, "req_1")
    assert [(one.field, one.message) for one in told.fields] == [("message", "Too long")]
    assert str(told) == "VALIDATION_ERROR: What happened. (req_1)"


def test_a_missing_field_and_a_missing_scope_are_told(client: Posthaste, server: MisbehavingServer) -> None:
    server.next.extend(
        [
            error(400, "MISSING_FIELD", field="page_id"),
            error(403, "MISSING_SCOPE", required_scope="write:posts"),
        ]
    )
    with pytest.raises(InvalidRequest) as missing:
        client.publish_post(page_id="pag_1")
    assert missing.value.fields[0].field == "page_id"
    with pytest.raises(PermissionDenied) as denied:
        client.publish_post(page_id="pag_1")
    assert denied.value.body["required_scope"] == "write:posts"


def test_an_unknown_outcome_names_the_post_and_the_key(client: Posthaste, server: MisbehavingServer) -> None:
    server.next.append(error(502, "PLATFORM_OUTCOME_UNKNOWN", post_id="pst_7"))
    with pytest.raises(OutcomeUnknown) as raised:
        client.publish_post(page_id="pag_1", idempotency_key="mine")
    assert (raised.value.post_id, raised.value.idempotency_key) == ("pst_7", "mine")
    assert len(server.requests) == 1


@pytest.mark.parametrize("key", ["a\0", "a\n", "a\x1f", "a\x7f", "ключ", "\ud800"])
def test_a_key_that_a_header_cannot_carry_is_refused_before_any_request(
    client: Posthaste, server: MisbehavingServer, key: str
) -> None:
    with pytest.raises(IdempotencyError) as raised:
        client.publish_post(page_id="pag_1", idempotency_key=key)
    assert (raised.value.status, raised.value.code) == (400, "INVALID_IDEMPOTENCY_KEY")
    assert server.requests == []


def test_every_category_of_the_api_has_a_family() -> None:
    from posthaste.error_codes import CATEGORIES

    assert set(CATEGORIES.values()) == FAMILIES.keys()


@pytest.mark.parametrize(
    ("status", "family"), [(418, "InvalidRequest"), (401, "AuthenticationError"), (599, "ServerError")]
)
def test_a_code_of_a_newer_server_gets_the_family_of_its_status(
    client: Posthaste, server: MisbehavingServer, status: int, family: str
) -> None:
    server.next.append(error(status, "BRAND_NEW"))
    with pytest.raises(getattr(posthaste, family)):
        client.publish_post(page_id="pag_1")


def test_fields_and_values_of_a_newer_server_are_accepted(
    client: Posthaste, server: MisbehavingServer
) -> None:
    page = PAGE | {"platform": "BLUESKY", "mood": "good"}
    server.routes["/api/v1/pages"] = lambda _: Reply(200, {"pages": [page], "next_cursor": None})
    assert client.list_pages().pages[0].platform == "BLUESKY"


@pytest.mark.parametrize("body", [b"<html>", {"pages": 3}, {"nothing": 1}, [1], {"pages": [{"id": "x"}]}])
def test_an_answer_of_another_server_is_told(client: Posthaste, server: MisbehavingServer, body: Any) -> None:
    server.routes["/api/v1/pages"] = lambda _: Reply(200, body)
    with pytest.raises(UnexpectedAnswer, match="base_url"):
        client.list_pages()


def two_pages(request: Request) -> Reply:
    last = "cursor=next" in request.path
    return Reply(
        200, {"pages": [PAGE | {"id": "pag_2" if last else "pag_1"}], "next_cursor": None if last else "next"}
    )


def test_a_list_is_followed_to_its_end_and_fetched_as_it_is_needed(
    client: Posthaste, server: MisbehavingServer
) -> None:
    server.routes["/api/v1/pages"] = two_pages
    pages = client.iterate_pages(platform="FB", limit=1)
    assert next(pages).id == "pag_1"
    assert len(server.requests) == 1
    assert [page.id for page in pages] == ["pag_2"]
    assert server.requests[1].path == "/api/v1/pages?platform=FB&limit=1&cursor=next"


def test_a_list_that_leads_back_to_itself_is_not_followed_for_ever(
    client: Posthaste, server: MisbehavingServer
) -> None:
    server.routes["/api/v1/pages"] = lambda _: Reply(200, {"pages": [], "next_cursor": "same"})
    with pytest.raises(UnexpectedAnswer):
        list(client.iterate_pages())


def test_the_async_client_lists_and_uploads(server: MisbehavingServer) -> None:
    server.routes["/api/v1/pages"] = two_pages
    server.routes["/api/v1/media/upload"] = lambda _: Reply(201, FILE)

    async def use() -> tuple[list[str], records.UploadedMedia]:
        async with AsyncPosthaste("t", base_url=server.url) as client:
            return [page.id async for page in client.iterate_pages()], await client.upload(
                b"bytes", filename="a.jpg"
            )

    ids, made = asyncio.run(use())
    assert ids == ["pag_1", "pag_2"]
    assert made.quota.remaining_bytes == 5
    assert b"bytes" in server.requests[-1].body


def test_a_small_file_goes_in_one_request_with_its_name_and_type(
    client: Posthaste, server: MisbehavingServer, tmp_path: Path
) -> None:
    server.routes["/api/v1/media/upload"] = lambda _: Reply(201, FILE)
    (tmp_path / "a.jpg").write_bytes(b"bytes")
    told: list[tuple[int, int]] = []
    made = client.upload(tmp_path / "a.jpg", on_progress=lambda *now: told.append(now))
    body = server.requests[0].body
    assert made.media_id == "med_1"
    assert b'name="file"; filename="a.jpg"\r\nContent-Type: image/jpeg\r\n\r\nbytes\r\n--' in body
    assert told == [(5, 5)]


def test_an_upload_in_one_request_is_repeated_only_when_it_was_refused(
    client: Posthaste, server: MisbehavingServer
) -> None:
    server.routes["/api/v1/media/upload"] = lambda _: Reply(201, FILE)
    server.next.append(error(429, "RATE_LIMITED", retry_after=1))
    client.upload(io.BytesIO(b"bytes"), filename="a.jpg")
    assert [b"bytes" in request.body for request in server.requests] == [True, True]
    server.next.append(LOST)
    with pytest.raises(posthaste.NoAnswer):
        client.upload(b"bytes", filename="a.jpg")
    assert len(server.requests) == 3


def test_a_file_in_parts_survives_lost_answers_and_sends_no_token_to_the_storage(
    client: Posthaste, server: MisbehavingServer
) -> None:
    content = bytes(range(256)) * 10
    parts = [{"number": number, "url": f"{server.url}/storage/{number}"} for number in (1, 2, 3)]
    begun = {
        "upload_id": "upl_1",
        "part_size_bytes": 1_000,
        "parts": parts,
        "expires_at": "2026-11-20T11:58:09Z",
    }
    stored: dict[str, bytes] = {}

    def store(request: Request) -> Reply:
        stored[request.path] = request.body
        return Reply(200, b"", {"ETag": f'"{request.path[-1]}"'})

    server.routes["/api/v1/media/uploads"] = lambda _: Reply(201, begun)
    server.routes["/api/v1/media/uploads/upl_1/complete"] = lambda _: Reply(201, FILE)
    server.routes |= {f"/storage/{number}": store for number in (1, 2, 3)}
    server.next.extend([LOST, LOST])
    told: list[tuple[int, int]] = []
    client.upload(content, filename="a.jpg", in_parts=True, on_progress=lambda *now: told.append(now))
    assert b"".join(stored[f"/storage/{number}"] for number in (1, 2, 3)) == content
    sent = [request for request in server.requests if request.path.startswith("/storage/")]
    assert not any("authorization" in request.headers for request in sent)
    assert server.requests[-1].json == {
        "parts": [{"number": number, "etag": f'"{number}"'} for number in (1, 2, 3)]
    }
    assert told[-1] == (2_560, 2_560)


def test_bytes_without_a_name_are_refused(client: Posthaste) -> None:
    with pytest.raises(ValueError, match="Pass filename"):
        client.upload(b"bytes")
