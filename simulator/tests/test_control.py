"""Tests the control API: local-stack.md, "Simulator control"."""

import pytest

SIX = ("FB", "IG", "LN", "TT", "TW", "YT")


@pytest.mark.parametrize("platform", SIX)
def test_every_platform_has_accounts(client, platform):
    answer = client.post("/_sim/accounts", json={"platform": platform, "name": "Ann", "username": "ann"})
    assert answer.status_code == 201
    account = answer.get_json()
    assert (account["platform"], account["name"], account["username"]) == (platform, "Ann", "ann")
    assert account["followers"] > 0
    assert client.get(account["picture"]).status_code == 200
    assert [row["access_token"] for row in client.get("/_sim/accounts").get_json()["accounts"]] == [
        account["access_token"]
    ]


def test_two_accounts_never_share_an_id(client):
    ids = {client.post("/_sim/accounts", json={"platform": "FB"}).get_json()["account_id"] for _ in range(20)}
    assert len(ids) == 20


@pytest.mark.parametrize("body", [{}, {"platform": "fb"}, {"platform": "openai"}, {"platform": ["FB"]}, []])
def test_accounts_exist_on_known_platforms_only(client, body):
    assert client.post("/_sim/accounts", json=body).status_code == 400


def test_posts_are_listed_by_platform_and_account_in_their_order(client, page, new_account):
    other = new_account("FB")
    ids = [page.publish("1"), page.publish("2")]
    other.publish("3")
    posts = client.get("/_sim/posts", query_string={"account_id": page.account_id}).get_json()["posts"]
    assert [post["id"] for post in posts] == ids
    assert set(posts[0]) >= {"id", "account_id", "text", "media", "settings", "created_at", "comments"}
    assert len(client.get("/_sim/posts?platform=FB").get_json()["posts"]) == 3
    assert client.get("/_sim/posts?platform=IG").get_json()["posts"] == []


def test_a_visitors_comment_is_held_under_its_post(client, page):
    post_id = page.publish()
    body = {"platform": "FB", "post_id": post_id, "from": "Ann", "text": "Lovely"}
    first = client.post("/_sim/comments", json=body)
    assert first.status_code == 201
    client.post("/_sim/comments", json={**body, "text": "Indeed", "parent_id": first.get_json()["id"]})
    [post] = client.get("/_sim/posts").get_json()["posts"]
    assert [(c["from"], c["text"], c["parent_id"]) for c in post["comments"]] == [
        ("Ann", "Lovely", None), ("Ann", "Indeed", first.get_json()["id"]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "status"),
    [({"post_id": "1"}, 404), ({"platform": "IG"}, 404), ({"text": None}, 400), ({"parent_id": "1"}, 404)],
)
def test_a_comment_needs_a_post_an_author_and_a_text(client, page, change, status):
    body = {"platform": "FB", "post_id": page.publish(), "from": "Ann", "text": "Lovely", **change}
    assert client.post("/_sim/comments", json=body).status_code == status


def test_counts_go_on_from_what_was_set(client, page):
    post_id = page.publish()
    client.post(
        "/_sim/metrics", json={"platform": "FB", "post_id": post_id, "likes": 1, "comments": 9, "shares": 0}
    )
    body = {"platform": "FB", "post_id": post_id, "from": "Ann", "text": "Lovely"}
    client.post("/_sim/comments", json=body)
    answer = client.post("/_sim/metrics", json={"platform": "FB", "post_id": post_id, "likes": 2})
    assert answer.get_json() == {"likes": 2, "comments": 10, "shares": 0}


def test_a_reset_clears_posts_and_faults_and_keeps_accounts_and_the_clock(client, page, plan_fault):
    page.publish()
    plan_fault("FB", "publish", "reject")
    client.post("/_sim/clock", json={"shift_seconds": 60})
    client.post("/_sim/reset")
    assert client.get("/_sim/posts").get_json()["posts"] == []
    assert client.get("/_sim/faults").get_json()["faults"] == []
    assert client.get("/_sim/clock").get_json()["shift_seconds"] == 60
    assert page.get(page.account_id).status_code == 200
    assert page.publish()


def test_a_shifted_clock_shows_in_the_times_of_posts(client, page):
    client.post("/_sim/clock", json={"shift_seconds": 86400})
    client.post("/_sim/clock", json={"shift_seconds": 3600})
    page.publish()
    assert client.get("/_sim/posts").get_json()["posts"][0]["created_at"] == "2026-11-20T13:00:00.000Z"


@pytest.mark.parametrize("body", [{}, {"shift_seconds": "1"}, {"shift_seconds": True}])
def test_a_clock_shift_is_a_number(client, body):
    assert client.post("/_sim/clock", json=body).status_code == 400


def test_it_says_that_it_is_well(client):
    assert client.get("/_sim/health").get_json() == {"status": "ok"}
