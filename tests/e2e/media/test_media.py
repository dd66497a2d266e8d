"""Tests media: files that are uploaded, attached, published, fetched, removed and refused."""

import json
import uuid

import pytest
import requests
from e2e_kit.api import Api, Json, refused
from e2e_kit.files import ELITE_FILE_BYTES, MB, film, put_in_parts, stream, upload, uploaded, used_bytes
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.posting import PUBLISH_SECONDS, await_post, schedule
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import until

#: An object is removed after its row.
REMOVED_SECONDS = 30.0
#: A short video is made to fit at the lowest priority, beside other tests.
MADE_SECONDS = 180.0


def test_an_upload_is_listed_shown_counted_and_deleted(api: Api, jpeg: bytes) -> None:
    media = uploaded(api, jpeg)
    assert (media["filename"], media["mime_type"], media["type"]) == ("cake.jpg", "image/jpeg", "photo")
    assert (media["width"], media["height"], media["scheduled_post_id"]) == (1080, 1080, None)
    assert (media["tier"], media["quota"]["used_bytes"]) == ("elite", media["size_bytes"])
    listed = api.get("/media")
    assert [item["media_id"] for item in listed["media"]] == [media["media_id"]]
    assert (listed["tier"], listed["quota"]) == ("elite", media["quota"])
    assert api.get(f"/media/{media['media_id']}")["url"] == media["url"]
    assert requests.get(media["url"], timeout=10).content == jpeg
    assert used_bytes(api) == media["size_bytes"]
    assert api.delete(f"/media/{media['media_id']}") == {"success": True, "media_id": media["media_id"]}
    assert (api.get("/media")["media"], used_bytes(api)) == ([], 0)
    refused(api.call("GET", f"/media/{media['media_id']}"), 404, "NOT_FOUND")
    refused(api.call("DELETE", f"/media/{media['media_id']}"), 404, "NOT_FOUND")
    until(lambda: requests.get(media["url"], timeout=10).status_code == 404, REMOVED_SECONDS, "it is gone")


@pytest.mark.parametrize("platform", ["FB", "IG"])
def test_an_upload_goes_out_with_its_post_and_counts_no_more(
    account: Account, operator: Operator, simulator: Simulator, jpeg: bytes, platform: str
) -> None:
    api = account.api
    media = uploaded(api, jpeg)
    post = schedule(account, platform, message="Cake", media_ids=[media["media_id"]])
    assert post["media_ids"] == [media["media_id"]]
    assert api.get(f"/media/{media['media_id']}")["scheduled_post_id"] == post["id"]
    refused(api.call("DELETE", f"/media/{media['media_id']}"), 409, "MEDIA_IN_USE")
    operator("post", "due", post["id"])
    await_post(api, post["id"], status="published")
    [held] = simulator.posts(account.pages[platform])
    assert held["media"] == [{"type": "photo", "bytes": len(jpeg)}]
    until(lambda: used_bytes(api) == 0, PUBLISH_SECONDS, "it counts no more")


def test_a_png_is_published_at_once_everywhere_and_as_jpeg_on_instagram(
    account: Account, simulator: Simulator, png: bytes
) -> None:
    media = uploaded(account.api, png, "cake.png", "image/png")
    for platform in ("FB", "IG"):
        body = {"page_id": account.page_id(platform), "message": "x", "media_ids": [media["media_id"]]}
        assert account.api.post("/posts/publish", body)["was_published"] is True
        [held] = simulator.posts(account.pages[platform])
        assert (held["media"][0]["bytes"] == len(png)) == (platform == "FB")


@pytest.mark.prompt
def test_a_video_goes_out(account: Account, simulator: Simulator, mp4: bytes) -> None:
    media = uploaded(account.api, mp4, "pan.mp4", "video/mp4")
    assert media["type"] == "video"
    assert media["duration_seconds"] == pytest.approx(5, abs=0.5)
    body = {"page_id": account.page_id(), "message": "x", "media_ids": [media["media_id"]]}
    account.api.post("/posts/publish", body)
    [held] = simulator.posts(account.pages["FB"])
    assert held["media"] == [{"type": "video", "bytes": media["size_bytes"]}]


def published_with_a_key(api: Api, body: Json) -> Json:
    """Publishes a post, and repeats the request with the same key while a video is still being converted, as clients
    do.
    """
    key = uuid.uuid4().hex

    def answer() -> Json | None:
        found = api.call("POST", "/posts/publish", json=body, key=key)
        if found.status_code == 409 and found.json()["code"] == "MEDIA_PROCESSING":
            return None
        assert found.status_code == 201, found.text
        post: Json = found.json()
        return post

    return until(answer, MADE_SECONDS, "the video is made and published")


@pytest.mark.prompt
def test_a_webm_is_published_as_mp4_where_webm_is_refused_and_has_a_thumbnail(
    account: Account, simulator: Simulator, webm: bytes
) -> None:
    api, media = account.api, uploaded(account.api, webm, "pan.webm", "video/webm")
    for platform in ("FB", "IG"):
        body = {"page_id": account.page_id(platform), "message": "x", "media_ids": [media["media_id"]]}
        found = api.post("/posts/validate", body, status=200)
        assert "converted to MP4" in found["media_changes"][0]["message"]
        assert published_with_a_key(api, body)["was_published"] is True
        [held] = simulator.posts(account.pages[platform])
        assert held["media"][0]["type"] == "video"
        assert held["media"][0]["bytes"] != media["size_bytes"]
    shown = until(
        lambda: api.get(f"/media/{media['media_id']}")["thumbnail_url"], REMOVED_SECONDS, "a thumbnail"
    )
    answer = requests.get(shown, timeout=10)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/jpeg")


def test_a_cancelled_post_lets_go_of_its_media_at_once(account: Account, jpeg: bytes) -> None:
    media = uploaded(account.api, jpeg)
    post = schedule(account, message="x", media_ids=[media["media_id"]])
    account.api.delete(f"/posts/scheduled/{post['id']}")
    until(
        lambda: account.api.get(f"/media/{media['media_id']}")["scheduled_post_id"] is None,
        5,
        "it is let go",
    )
    account.api.delete(f"/media/{media['media_id']}")


def test_a_large_file_is_put_into_storage_in_parts(api: Api, mp4: bytes) -> None:
    size_bytes = 12 * MB
    data = b"".join(film(mp4, size_bytes))
    path, parts = put_in_parts(api, data)
    assert used_bytes(api) == size_bytes
    media = api.post(path, parts)
    assert media["size_bytes"] == used_bytes(api)
    stored = requests.get(media["url"], timeout=30).content
    assert len(stored) == media["size_bytes"]
    assert stored.endswith(data[data.index(b"mdat") :])


def test_another_accounts_media_are_not_there(api: Api, accounts: Accounts, jpeg: bytes) -> None:
    media, stranger = uploaded(api, jpeg), accounts.new(pages=("FB",))
    for method in ("GET", "DELETE"):
        refused(stranger.api.call(method, f"/media/{media['media_id']}"), 404, "NOT_FOUND")
    body = {"page_id": stranger.page_id(), "message": "x", "media_ids": [media["media_id"]]}
    refused(stranger.api.call("POST", "/posts/publish", json=body), 404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("content", "filename", "mime_type", "code"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "a.svg", "image/svg+xml", "UPLOAD_ERROR"),
        (b"%PDF-1.7", "a.pdf", "application/pdf", "UPLOAD_ERROR"),
        (b"PK\x03\x04", "a.zip", "application/zip", "UPLOAD_ERROR"),
        (b"<html>", "a.jpg", "text/html", "UPLOAD_ERROR"),
        (b"\x89PNG\r\n\x1a\n", "a.svg", "image/png", "UPLOAD_ERROR"),
        (b"<html><script>", "a.jpg", "image/jpeg", "INVALID_FILE_CONTENT"),
        (b"\xff\xd8\xff\xe0 and no more", "a.jpg", "image/jpeg", "INVALID_FILE_CONTENT"),
        (b"", "a.jpg", "image/jpeg", "INVALID_FILE_CONTENT"),
    ],
)
def test_what_is_no_picture_or_film_is_refused_and_leaves_nothing(
    shared: Account, content: bytes, filename: str, mime_type: str, code: str
) -> None:
    refused(upload(shared.api, content, filename, mime_type), 400, code)
    assert shared.api.get("/media")["media"] == []


def test_bytes_of_another_type_are_refused(shared: Account, png: bytes) -> None:
    refused(upload(shared.api, png, "a.jpg", "image/jpeg"), 400, "INVALID_FILE_CONTENT")


def test_a_body_without_a_file_or_of_another_kind_is_refused(shared: Account, jpeg: bytes) -> None:
    api = shared.api
    refused(api.call("POST", "/media/upload", files={"photo": ("a.jpg", jpeg)}), 400, "NO_FILE")
    refused(api.call("POST", "/media/upload", json={}), 415, "UNSUPPORTED_MEDIA_TYPE")
    headers = {"Content-Type": "multipart/form-data"}
    refused(api.call("POST", "/media/upload", data=b"x", headers=headers), 400, "UPLOAD_ERROR")
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    refused(api.call("POST", "/media/upload", data=b"--b\r\n", headers=headers), 400, "UPLOAD_ERROR")


def test_a_token_without_the_scope_may_not(accounts: Accounts, jpeg: bytes) -> None:
    api = accounts.new(pages=(), scopes="read:media").api
    refused(upload(api, jpeg, "a.jpg", "image/jpeg"), 403, "MISSING_SCOPE", required_scope="write:media")
    assert api.get("/media")["media"] == []


@pytest.mark.parametrize("has_length", [True, False], ids=["with its length", "in chunks"])
def test_a_file_above_the_tiers_limit_is_refused_and_the_client_sees_it(
    accounts: Accounts, mp4: bytes, has_length: bool
) -> None:
    api, size_bytes = accounts.new("free", pages=()).api, 25 * MB + 1
    answer = stream(api, film(mp4, size_bytes), size_bytes if has_length else None)
    assert (answer.status, json.loads(answer.data)["code"]) == (413, "FILE_TOO_LARGE")
    assert used_bytes(api) == 0


def test_the_largest_file_of_a_tier_is_taken_and_the_storage_ends_where_it_says(
    accounts: Accounts, mp4: bytes
) -> None:
    api = accounts.new("free", pages=()).api
    statuses = [stream(api, film(mp4, 25 * MB), 25 * MB).status for _ in range(4)]
    assert statuses == [201] * 4
    refused(upload(api, mp4, "a.mp4", "video/mp4"), 413, "QUOTA_EXCEEDED")
    assert 99 * MB < used_bytes(api) <= 100 * MB


def test_what_stands_behind_a_large_file_is_refused_and_leaves_nothing(api: Api, mp4: bytes) -> None:
    files = [("file", ("a.mp4", b"".join(film(mp4, MB)), "video/mp4")), ("note", (None, "late"))]
    refused(api.call("POST", "/media/upload", files=files), 400, "UPLOAD_ERROR")
    assert used_bytes(api) == 0


def test_parts_that_were_not_put_are_refused(api: Api) -> None:
    refused(api.call("POST", "/media/uploads", json={"filename": "a.mp4"}), 400, "MISSING_FIELD")
    large = {"filename": "a.mp4", "mime_type": "video/mp4", "size_bytes": ELITE_FILE_BYTES + 1}
    refused(api.call("POST", "/media/uploads", json=large), 413, "FILE_TOO_LARGE")
    refused(api.call("POST", "/media/uploads", json={**large, "mime_type": "text/html"}), 400, "UPLOAD_ERROR")
    begun = api.post("/media/uploads", {**large, "size_bytes": 6 * MB})
    parts = {"parts": [{"number": 1, "etag": '"none"'}]}
    complete = f"/media/uploads/{begun['upload_id']}/complete"
    refused(api.call("POST", complete, json=parts), 400, "UPLOAD_ERROR")
    refused(api.call("POST", "/media/uploads/upl_none/complete", json=parts), 404, "NOT_FOUND")
