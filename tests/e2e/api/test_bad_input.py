"""Every invalid request gets a documented error: never a 5xx, never a hang."""

import json
import time
import uuid
from typing import Any

import pytest
from e2e_kit.api import Json, refused
from e2e_kit.operator import Account
from e2e_kit.posting import from_now, schedule, tomorrow

JSON = {"Content-Type": "application/json"}
#: Invalid input is refused at once; this allows for a busy machine.
ANSWER_SECONDS = 10.0

NOT_JSON = {
    "nothing": b"",
    "a word": b"hello",
    "half an object": b'{"page_id": "x"',
    "a trailing comma": b'{"page_id": "x",}',
    "single quotes": b"{'page_id': 'x'}",
    "two objects": b"{}{}",
    "an array": b"[]",
    "a string": b'"text"',
    "a number": b"1",
    "null": b"null",
    "NaN": b'{"message": NaN}',
    "not UTF-8": b'{"message": "\xff\xfe"}',
    "UTF-16": '{"message": "x"}'.encode("utf-16"),
    "a NUL byte": b'{"message": "a\x00b"}',
    "a form": b"page_id=x&message=y",
    "deep nesting": b"[" * 100_000,
    "deep closed nesting": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "an endless number": b'{"page_id": ' + b"9" * 100_000 + b"}",
}
MALFORMED_DATES = (
    "tomorrow", "", "2030-13-01T00:00:00Z", "2030-01-01", "2030-01-01T09:00:00", "2030-02-30T09:00:00Z", 1893456000,
    1.5, True, [], {}, "2030-01-01T09:00:00+99:00", "0000-01-01T00:00:00Z", "99999-01-01T00:00:00Z", "\u0000",
    "2030-01-01T25:00:00Z", "２０３０-01-01T09:00:00Z",
)  # fmt: skip
FAR_DATES = (
    "2038-01-19T03:14:08Z",
    "2106-02-07T06:28:16Z",
    "9999-12-31T23:59:59Z",
    "1969-12-31T23:59:59Z",
    "0001-01-01T00:00:00Z",
)
WRONG_FIELDS: dict[str, Json] = {
    "a message that is a number": {"message": 5},
    "a message that is a list": {"message": ["x"]},
    "a message that is an object": {"message": {"text": "x"}},
    "a message of 5001 characters": {"message": "x" * 5_001},
    "a NUL in the message": {"message": "a\u0000b"},
    "a lone surrogate in the message": {"message": "a\ud800b"},
    "a page id that is a number": {"page_id": 1},
    "a page id that is a list": {"page_id": ["pag_x"]},
    "media_urls that is a string": {"media_urls": "http://example.com/a.jpg"},
    "media_urls of numbers": {"media_urls": [1, 2]},
    "media_urls of nulls": {"media_urls": [None]},
    "media_ids of objects": {"media_ids": [{}]},
    "a first comment that is a number": {"first_comment": 7},
    "a first comment of 8001 characters": {"first_comment": "x" * 8_001},
    "settings that are a list": {"facebook_settings": []},
    "settings that are a string": {"facebook_settings": "public"},
    "a NUL in the settings": {"facebook_settings": {"a\u0000": 1}},
    "a lone surrogate in the settings": {"facebook_settings": {"a": ["\udfff"]}},
    "settings nested too deeply": {"facebook_settings": json.loads('{"a":' * 60 + "1" + "}" * 60)},
    "a number in the settings that no database holds": {"facebook_settings": {"a": 10**400}},
}
#: Those that validate reports: their types are right, but they break a rule of posts.
TOO_LONG = ("a message of 5001 characters", "a first comment of 8001 characters")
#: localhost, private, link-local, CGNAT, multicast, mapped, NAT64 forms, and every odd spelling of them.
INSIDE_URLS = (
    "http://localhost/a.jpg", "http://LOCALHOST./a.jpg", "http://127.0.0.1/a.jpg", "http://127.1/a.jpg",
    "http://2130706433/a.jpg", "http://0x7f000001/a.jpg", "http://0177.0.0.1/a.jpg", "http://017700000001/a.jpg",
    "http://0x7f.1/a.jpg", "http://0/a.jpg", "http://10.0.0.1/a.jpg", "http://172.16.5.4/a.jpg",
    "http://192.168.1.1/a.jpg", "http://169.254.169.254/latest", "http://100.64.0.1/a.jpg", "http://224.0.0.1/a.jpg",
    "http://255.255.255.255/a.jpg", "http://[::1]/a.jpg", "http://[::]/a.jpg", "http://[fe80::1]/a.jpg",
    "http://[fc00::1]/a.jpg", "http://[ff02::1]/a.jpg", "http://[::ffff:127.0.0.1]/a.jpg", "http://[::ffff:7f00:1]/a.jpg",
    "http://[64:ff9b::7f00:1]/a.jpg", "http://[64:ff9b::10.0.0.1]/a.jpg", "http://[2002:7f00:1::]/a.jpg",
    "http://１２７.０.０.１/a.jpg", "http://①②⑦.⓪.⓪.①/a.jpg", "http://127。0。0。1/a.jpg", "http://ⓛocalhost/a.jpg",
    "http://user:secret@127.0.0.1/a.jpg", "http://example.com@127.0.0.1/a.jpg", "http://127.0.0.1:80/a.jpg",
    "http://app.localhost/a.jpg", "http://192.0.2.1/a.jpg", "http://198.18.0.1/a.jpg",
)  # fmt: skip
STRANGE_URLS = (
    "", " ", "file:///etc/passwd", "ftp://example.com/a.jpg", "gopher://example.com/", "javascript:alert(1)",
    "data:image/png;base64,AA==", "//example.com/a.jpg", "example.com/a.jpg", "http://", "http:///a.jpg",
    "http://exa mple.com/a.jpg", "http://example.com:99999/a.jpg", "http://[::1/a.jpg", "http://\u0000.com/",
    "http://example.com/\r\nX: y", "http://" + "a" * 300 + ".com/", "http://" + "x." * 2000 + "com/",
)  # fmt: skip
BAD_QUERIES = (
    "/pages?limit=0", "/pages?limit=101", "/pages?limit=-1", "/pages?limit=ten", "/pages?limit=1.5", "/pages?limit=",
    "/pages?limit=1&limit=2", "/pages?limit=99999999999999999999999", "/pages?limit=１", "/pages?limit=1e1",
    "/pages?platform=MYSPACE", "/pages?platform=", "/pages?platform=FB&platform=FB", "/pages?platform=F%00B",
    "/pages?cursor=made-up", "/pages?cursor=%00", "/pages?cursor=%ff%fe", "/pages?cursor=AAAA", "/brands?cursor=e30",
    "/posts/scheduled?status=lost", "/posts/scheduled?status=", "/posts/scheduled?cursor=bm8",
    "/posts/scheduled?limit=0",
    "/posts/published?cursor=W10", "/posts/published?platform=z", "/posts/published?limit=1000",
)  # fmt: skip
STRANGE_PATHS = (
    "/pages/%00", "/pages/%ff", "/pages/..%2f..%2fetc", "/pages/" + "x" * 3000, "/posts/scheduled/'; DROP TABLE posts",
    "/pages/%F0%9F%A5%90", "/brands/%ED%A0%80", "/posts/scheduled/%0d%0a", "/pages/pag_x/y", "/nowhere", "/me/", "//me",
)  # fmt: skip


@pytest.fixture(scope="module")
def valid(shared: Account) -> Json:
    return {"page_id": shared.page_id(), "message": "fine", "scheduled_at": tomorrow()}


def raw(body: Json) -> bytes:
    """Encodes a body as JSON; lone surrogates become escapes."""
    return json.dumps(body).encode()


@pytest.mark.parametrize("path", ["/posts/schedule", "/posts/publish", "/posts/validate", "/comments/reply"])
@pytest.mark.parametrize("what", NOT_JSON)
def test_a_body_that_is_no_json_object(shared: Account, path: str, what: str) -> None:
    answer = shared.api.call("POST", path, data=NOT_JSON[what], headers=JSON, timeout=ANSWER_SECONDS)
    assert answer.json()["code"] in ("INVALID_JSON", "MISSING_FIELD", "VALIDATION_ERROR"), answer.text
    if what not in ("an endless number", "deep closed nesting"):
        refused(answer, 400, "INVALID_JSON")


@pytest.mark.parametrize(
    ("method", "path"), [("PATCH", "/posts/scheduled/pst_x"), ("POST", "/posts/publish")]
)
def test_a_body_of_another_content_type(shared: Account, method: str, path: str) -> None:
    for kind in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
    ):
        answer = shared.api.call(method, path, data=b"{}", headers={"Content-Type": kind})
        refused(answer, 415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize("size", [2**20 + 1, 10 * 2**20])
def test_a_body_over_one_mebibyte(shared: Account, valid: Json, size: int) -> None:
    body = raw(valid | {"message": "x" * size})
    refused(shared.api.call("POST", "/posts/schedule", data=body, headers=JSON), 413, "PAYLOAD_TOO_LARGE")

    def pieces() -> Any:
        for begin in range(0, len(body), 65_536):
            yield body[begin : begin + 65_536]

    answer = shared.api.call("POST", "/posts/schedule", data=pieces(), headers=JSON)
    refused(answer, 413, "PAYLOAD_TOO_LARGE")


def test_a_body_just_under_one_mebibyte_is_read(shared: Account, valid: Json) -> None:
    body = raw(valid | {"padding": "x" * (2**20 - 1000)})
    assert len(body) < 2**20
    answer = shared.api.call("POST", "/posts/validate", data=body, headers=JSON)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("what", WRONG_FIELDS)
def test_a_field_of_the_wrong_kind(shared: Account, valid: Json, what: str) -> None:
    [field] = WRONG_FIELDS[what]
    paths = ["/posts/schedule", "/posts/publish", "/posts/validate"]
    if what in TOO_LONG:
        found = shared.api.post(paths.pop(), valid | WRONG_FIELDS[what], status=200)
        assert field in {row["field"] for row in found["errors"] if row["code"] == "VALIDATION_ERROR"}
    for path in paths:
        answer = shared.api.call("POST", path, data=raw(valid | WRONG_FIELDS[what]), headers=JSON)
        errors = refused(answer, 400, "VALIDATION_ERROR")["errors"]
        assert errors[0]["field"].startswith(field), errors
        assert errors[0]["message"]


@pytest.mark.parametrize("field", ["page_id", "scheduled_at"])
def test_a_required_field_that_is_absent_or_null(shared: Account, valid: Json, field: str) -> None:
    without = {name: value for name, value in valid.items() if name != field}
    for body in (without, valid | {field: None}):
        refused(shared.api.call("POST", "/posts/schedule", json=body), 400, "MISSING_FIELD", field=field)
    refused(shared.api.call("GET", "/comments"), 400, "MISSING_FIELD", field="post_id")


def test_unknown_fields_and_query_parameters_are_ignored(shared: Account, valid: Json) -> None:
    assert shared.api.post("/posts/validate", valid | {"colour": "red"}, status=200)["valid"] is True
    shared.api.get("/pages", 200, colour="red")


@pytest.mark.parametrize("value", MALFORMED_DATES, ids=repr)
def test_a_malformed_or_naive_time(shared: Account, valid: Json, value: object) -> None:
    answer = shared.api.call("POST", "/posts/schedule", json=valid | {"scheduled_at": value})
    refused(answer, 400, "INVALID_DATE")


@pytest.mark.parametrize("value", FAR_DATES)
def test_a_time_far_away_is_only_out_of_range(shared: Account, valid: Json, value: str) -> None:
    answer = shared.api.call("POST", "/posts/schedule", json=valid | {"scheduled_at": value})
    refused(answer, 400, "SCHEDULE_OUT_OF_RANGE")
    assert shared.api.get("/posts/published", since=value)["published_posts"] == []


@pytest.mark.parametrize("value", ["yesterday", "2026-01-01T00:00:00", "", "1"])
def test_a_malformed_since(shared: Account, value: str) -> None:
    refused(shared.api.call("GET", "/posts/published", params={"since": value}), 400, "INVALID_DATE")


@pytest.mark.parametrize("url", INSIDE_URLS + STRANGE_URLS)
def test_a_media_url_that_leads_inside_or_nowhere(shared: Account, valid: Json, url: str) -> None:
    answer = shared.api.call("POST", "/posts/schedule", json=valid | {"media_urls": [url]})
    if "\u0000" in url:
        assert answer.status_code == 400, answer.text
    else:
        refused(answer, 400, "INVALID_MEDIA_URL")


@pytest.mark.parametrize("path", BAD_QUERIES)
def test_a_query_that_breaks_a_rule(shared: Account, path: str) -> None:
    refused(shared.api.call("GET", path, timeout=ANSWER_SECONDS), 400, "VALIDATION_ERROR")


@pytest.mark.parametrize("path", STRANGE_PATHS)
@pytest.mark.parametrize("with_token", [True, False], ids=["with token", "without"])
def test_a_path_that_leads_nowhere(shared: Account, path: str, with_token: bool) -> None:
    headers = {} if with_token else {"Authorization": ""}
    answer = shared.api.call("GET", path, headers=headers, allow_redirects=False)
    if with_token or answer.status_code != 401:
        refused(answer, 404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/me"),
        ("PUT", "/posts/schedule"),
        ("DELETE", "/posts/publish"),
        ("BREW", "/pages"),
        ("TRACE", "/me"),
    ],
)
def test_a_method_a_path_does_not_take(shared: Account, method: str, path: str) -> None:
    answer = shared.api.call(method, path)
    refused(answer, 405, "METHOD_NOT_ALLOWED")
    assert answer.headers["Allow"]


def test_unknown_media_and_comments_are_not_found_by_their_field(shared: Account, valid: Json) -> None:
    answer = shared.api.call("POST", "/posts/schedule", json=valid | {"media_ids": ["med_unknown"]})
    refused(answer, 404, "NOT_FOUND", field="media_ids")
    body = {"page_id": shared.page_id(), "comment_id": "cmt_unknown", "message": "x"}
    refused(shared.api.call("POST", "/comments/reply", json=body), 404, "NOT_FOUND", field="comment_id")
    refused(
        shared.api.call("GET", "/comments", params={"post_id": "pst_unknown"}),
        404,
        "NOT_FOUND",
        field="post_id",
    )


@pytest.mark.parametrize(
    "message", ["", "x" * 8_001, None, 5, "a\u0000"], ids=["empty", "too long", "null", "number", "NUL"]
)
def test_a_reply_that_is_none(shared: Account, message: object) -> None:
    body = {"page_id": shared.page_id(), "comment_id": "cmt_x", "message": message}
    answer = shared.api.call("POST", "/comments/reply", json=body)
    refused(answer, 400, "MISSING_FIELD" if message is None else "VALIDATION_ERROR")


def test_everything_a_text_may_hold_comes_back_as_it_was(account: Account) -> None:
    texts = (
        "emoji 🥐👩‍👩‍👧 and ‮right-to-left‬",
        "\u202e\ufeff\u200b",
        "tabs\tand\nlines\r\n",
        "<script>'\";--",
        "\U0010ffff\ufffe",
        "é" * 5_000,
    )
    for number, text in enumerate(texts):
        post = schedule(account, message=text, scheduled_at=from_now(days=2, hours=number))
        assert post["message"] == text
    listed = account.api.get("/posts/scheduled")["scheduled_posts"]
    assert [post["message"] for post in listed] == list(texts)


SIGN_UPS: dict[str, Json] = {
    "no address": {"email": "nobody", "password": "correct horse"},
    "a short password": {"email": "a@example.test", "password": "short"},
    "a NUL in the password": {"email": "a@example.test", "password": "correct\u0000horse"},
    "a line break in the address": {
        "email": "a@example.test\r\nBcc: b@example.test",
        "password": "correct horse",
    },
    "a tall name": {"email": "a@example.test", "password": "correct horse", "firstname": "x" * 5_000},
    "an endless password": {"email": "a@example.test", "password": "x" * 100_000},
}


@pytest.mark.parametrize("what", SIGN_UPS)
def test_a_sign_up_that_breaks_a_rule(shared: Account, what: str) -> None:
    url = shared.api.base_url.removesuffix("/api/v1") + "/auth/signup"
    refused(
        shared.api.session.post(url, json=SIGN_UPS[what], timeout=ANSWER_SECONDS), 400, "VALIDATION_ERROR"
    )


def test_a_sign_up_cannot_choose_its_tier(shared: Account) -> None:
    url = shared.api.base_url.removesuffix("/api/v1") + "/auth/signup"
    body = {"email": f"{uuid.uuid4().hex}@example.test", "password": "correct horse", "tier": "elite"}
    assert shared.api.session.post(url, json=body, timeout=ANSWER_SECONDS).json()["user"]["tier"] == "free"


def test_all_of_this_left_the_service_well(shared: Account) -> None:
    begin = time.monotonic()
    shared.api.get("/account")
    assert time.monotonic() - begin < ANSWER_SECONDS
