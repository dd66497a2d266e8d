"""Tests /docs on a running stack: it needs no token and is the same from every process."""

import requests
from e2e_kit.stack import Stack


def test_the_reference_needs_no_token_and_shows_this_servers_addresses(stack: Stack) -> None:
    first = requests.get(f"{stack.root_url}/docs", timeout=30)
    assert first.status_code == 200
    assert f"<code>{stack.base_url}</code>" in first.text
    posts = requests.get(f"{stack.root_url}/docs/posts", timeout=30)
    assert f"{stack.base_url}/posts/schedule" in posts.text
    assert "X-RateLimit-Limit" not in posts.headers


def test_a_copy_of_the_browser_stays_good_whichever_process_answers(stack: Stack) -> None:
    etag = requests.get(f"{stack.root_url}/docs", timeout=30).headers["ETag"]
    for _ in range(8):
        again = requests.get(f"{stack.root_url}/docs", headers={"If-None-Match": etag}, timeout=30)
        assert (again.status_code, again.content) == (304, b"")
