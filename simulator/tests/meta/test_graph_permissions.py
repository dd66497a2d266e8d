"""Tests that every call needs the permission in Meta's reference, and is refused with a token that lacks it."""

import pytest

from simulator.meta import permissions
from simulator.meta.routes import EDGES

GRAPH = "/graph.facebook.com/v26.0"
#: Edges that any token reaches.
FREE = {
    ("POST", "App", "uploads"), ("POST", "Upload", ""), ("GET", "Upload", ""),
    ("GET", "User", ""), ("GET", "User", "permissions"),
    ("POST", "IGUser", "subscribed_apps"), ("GET", "IGUser", "subscribed_apps"),
    ("GET", "Page", "subscribed_apps"), ("DELETE", "Page", "subscribed_apps"),
    ("DELETE", "IGUser", "subscribed_apps"),
}  # fmt: skip


def test_every_edge_needs_a_permission_or_is_known_to_need_none():
    assert set(permissions.NEEDED) <= set(EDGES)
    assert set(EDGES) - set(permissions.NEEDED) <= FREE


@pytest.mark.parametrize(
    ("method", "path", "scope", "code"),
    [
        ("POST", "{page}/feed", "pages_manage_posts", 200),
        ("POST", "{page}/videos", "pages_manage_posts", 200),
        ("POST", "{post}/comments", "pages_manage_engagement", 200),
        ("GET", "{post}/comments", "pages_read_user_content", 200),
        ("GET", "{page}/published_posts", "pages_read_engagement", 200),
        ("POST", "{page}/subscribed_apps", "pages_manage_metadata", 200),
        ("POST", "{ig}/media", "instagram_content_publish", 10),
        ("GET", "{ig}/media", "instagram_basic", 10),
    ],
)
def test_a_call_without_its_permission_is_refused(client, sim, method, path, scope, code):
    page = sim.accounts.issue("FB")
    token = sim.accounts.token(page)
    post = client.post(f"{GRAPH}/{page.account_id}/feed", json={"message": "hi", "access_token": token})
    names = {"page": page.account_id, "ig": "178414" + page.account_id[-11:], "post": post.get_json()["id"]}
    scopes = sorted({*permissions.NEEDED.values()} - {scope})
    poor = sim.accounts.token(page, scopes=scopes)
    answer = client.open(
        f"{GRAPH}/{path.format(**names)}", method=method, query_string={"access_token": poor}
    )
    assert answer.get_json()["error"]["code"] == code
    rich = sim.accounts.token(page, scopes=[*scopes, scope])
    answer = client.open(
        f"{GRAPH}/{path.format(**names)}", method=method, query_string={"access_token": rich}
    )
    assert answer.get_json().get("error", {}).get("code") not in (10, 200)
