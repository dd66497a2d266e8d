"""Lists of several pages: each leads to its next page and from there back to the first, and keeps its filters."""

import html
import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from e2e_kit.attacks.hostile_api import hostile_dashboard
from e2e_kit.stack import Stack

#: List → the name of the cursor in its address.
LISTS = {
    "/posts?tab=scheduled": "after",
    "/posts?tab=published": "after",
    "/posts?tab=attention&brand=x&page=x&platform=FB&search=rye": "after",
    "/posts?tab=cancelled": "after",
    "/comments?state=all&brand=x": "after",
    "/comments/of/x": "after",
    "/library?show=photos&search=rye": "after",
    "/pages": "after",
    "/brands?archived=yes": "after",
    "/brands/x": "after",
    "/brands/x?x=": "invited_after",
    "/brands": "shared_after",
    "/developers": "after",
    "/developers?x=": "hooks_after",
    "/developers/webhooks/x?state=failed": "after",
    "/developers/requests?token_id=x&request_id=req_1&operation=op_1&errors=yes": "after",
    "/usage/credits": "after",
    "/activity/audit?brand=x": "after",
    "/account": "after",
}


@pytest.fixture(scope="module")
def url(stack: Stack) -> Iterator[str]:
    """The address of a dashboard over a fake API, in which every page of every list has a next page."""
    description = requests.get(f"{stack.base_url}/openapi.json", timeout=30).json()
    with hostile_dashboard(description) as (url, api):
        api.text = "Corner Bakery"
        yield url


def links(url: str, path: str) -> list[str]:
    """Returns the addresses of all links of a page."""
    answer = requests.get(url + path, cookies={"posthaste_session": "x"}, timeout=30)
    assert answer.status_code == 200, answer.text
    return [html.unescape(it) for it in re.findall(r'<a [^>]*?href="([^"]*)"', answer.text)]


def asked(address: str) -> tuple[str, dict[str, list[str]]]:
    parts = urlsplit(address)
    return parts.path, parse_qs(parts.query)


@pytest.mark.parametrize(("path", "cursor"), LISTS.items(), ids=str)
def test_a_list_leads_to_its_next_page_and_back_to_its_first(url: str, path: str, cursor: str) -> None:
    screen, filters = asked(path)
    [onwards] = {it for it in links(url, path) if asked(it) == (screen, filters | {cursor: ["x"]})}
    second = [asked(it) for it in links(url, urlsplit(onwards)._replace(fragment="").geturl())]
    assert (screen, filters) in second
    assert (screen, filters | {cursor: ["x"]}) in second  # and so on
