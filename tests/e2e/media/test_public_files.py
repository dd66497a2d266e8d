"""Tests the public URL of a file: what anybody with the URL gets, and that a file cannot run scripts on our origin."""

import pytest
import requests
from e2e_kit.api import refused
from e2e_kit.files import uploaded
from e2e_kit.operator import Account
from e2e_kit.stack import Stack


@pytest.fixture(scope="module")
def url(shared: Account, mp4: bytes) -> str:
    url: str = uploaded(shared.api, mp4, "pan é.mp4", "video/mp4")["url"]
    return url


@pytest.fixture(scope="module")
def stored(url: str, mp4: bytes) -> bytes:
    """Fetches the whole file, and asserts that it shows the frames that were uploaded."""
    content = requests.get(url, timeout=30).content
    assert content.endswith(mp4[mp4.index(b"mdat") :])
    return content


def test_a_range_is_answered_with_itself(url: str, stored: bytes) -> None:
    for asked, expected in (("0-9", stored[:10]), ("100-", stored[100:]), ("-7", stored[-7:])):
        answer = requests.get(url, headers={"Range": f"bytes={asked}"}, timeout=10)
        assert (answer.status_code, answer.content) == (206, expected)
        assert answer.headers["Content-Range"].endswith(f"/{len(stored)}")
    answer = requests.get(url, headers={"Range": f"bytes={len(stored)}-"}, timeout=10)
    assert (answer.status_code, answer.headers["Content-Range"]) == (416, f"bytes */{len(stored)}")


def test_what_a_client_has_is_not_sent_again(url: str, stored: bytes) -> None:
    first = requests.get(url, timeout=10)
    assert first.content == stored
    again = requests.get(url, headers={"If-None-Match": first.headers["ETag"]}, timeout=10)
    assert (again.status_code, again.content) == (304, b"")
    headers = {"Range": "bytes=0-0", "If-Range": '"another"'}
    assert requests.get(url, headers=headers, timeout=10).content == stored


def test_head_says_what_get_would(url: str) -> None:
    told, got = requests.head(url, timeout=10), requests.get(url, timeout=10)
    own = {"Date", "X-Request-Id"}
    assert {**told.headers, **dict.fromkeys(own)} == {**got.headers, **dict.fromkeys(own)}
    assert told.status_code == 200


def test_nothing_in_it_runs_in_our_name(url: str) -> None:
    headers = requests.get(url, timeout=10).headers
    assert headers["Content-Type"] == "video/mp4"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert headers["Content-Disposition"].startswith("inline; filename=")


@pytest.mark.parametrize(
    "path", ["/media/unknown/a.jpg", f"/media/{'k' * 22}/a.jpg", "/media/../media/x/y%00"]
)
def test_what_is_not_there_is_the_apis_own_404(stack: Stack, path: str) -> None:
    answer = requests.get(stack.root_url + path, timeout=10)
    refused(answer, 404, "NOT_FOUND")


def test_another_name_under_the_same_key_is_not_there(url: str) -> None:
    refused(requests.get(url.rpartition("/")[0] + "/other.mp4", timeout=10), 404, "NOT_FOUND")
