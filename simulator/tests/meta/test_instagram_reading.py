"""Tests reading and comments of Instagram professional accounts: platforms.md section 3."""

from typing import Any

import pytest


@pytest.fixture
def media_id(insta: Any, media_url: str, clock: Any) -> str:
    """The id of a published photo."""
    container = insta.contain(image_url=media_url + "photo-800x800.jpg", caption="Bread")
    clock.pass_time(1)
    return insta.post(f"{insta.account_id}/media_publish", creation_id=container).get_json()["id"]


def say(client, media_id, text, **more):
    body = {"platform": "IG", "post_id": media_id, "from": "ann", "text": text, **more}
    return client.post("/_sim/comments", json=body).get_json()["id"]


def texts(answer):
    return [row["text"] for row in answer.get_json()["data"]]


def test_a_post_is_found_again_in_the_accounts_media(insta, media_id):
    [row] = insta.get(f"{insta.account_id}/media", fields="id,caption,timestamp,permalink").get_json()["data"]
    assert (row["id"], row["caption"], row["timestamp"]) == (media_id, "Bread", "2026-11-20T12:00:01+0000")
    assert row["permalink"].startswith("https://www.instagram.com/p/")


def test_counts_are_read_and_shares_come_from_insights_alone(insta, media_id, client):
    body = {"platform": "IG", "post_id": media_id, "likes": 5, "comments": 2, "shares": 3}
    client.post("/_sim/metrics", json=body)
    counts = insta.get(media_id, fields="like_count,comments_count,permalink,timestamp").get_json()
    assert (counts["like_count"], counts["comments_count"]) == (5, 2)
    assert insta.get(media_id, fields="shares").get_json()["error"]["code"] == 100
    shares = insta.get(f"{media_id}/insights", metric="shares").get_json()
    assert shares["data"][0]["values"][0]["value"] == 3


def test_the_profile_is_read(insta, media_id):
    fields = "username,name,profile_picture_url,followers_count,media_count"
    profile = insta.get(insta.account_id, fields=fields).get_json()
    assert (profile["username"], profile["name"], profile["media_count"]) == (
        "cornerbakery",
        "Corner Bakery",
        1,
    )


def test_comments_come_newest_first_without_replies_and_without_since(insta, media_id, client):
    first = say(client, media_id, "one")
    say(client, media_id, "reply", parent_id=first)
    say(client, media_id, "two")
    fields = "id,text,timestamp,username,from,like_count,hidden,parent_id,replies{id,text,timestamp,username}"
    rows = insta.get(f"{media_id}/comments", fields=fields, since=4102444800).get_json()["data"]
    assert [row["text"] for row in rows] == ["two", "one"]
    assert [reply["text"] for reply in rows[1]["replies"]["data"]] == ["reply"]
    assert rows[0]["username"] == "ann"
    assert "from" not in rows[0]


def test_fifty_comments_make_a_page(insta, media_id, client):
    for n in range(51):
        say(client, media_id, str(n))
    answer = insta.get(f"{media_id}/comments")
    assert len(texts(answer)) == 50
    after = answer.get_json()["paging"]["cursors"]["after"]
    assert texts(insta.get(f"{media_id}/comments", after=after)) == ["0"]


def test_one_unknown_field_fails_the_call(insta, media_id):
    assert insta.get(f"{media_id}/comments", fields="id").status_code == 200
    say(insta.client, media_id, "hi")
    assert insta.get(f"{media_id}/comments", fields="id,message").get_json()["error"]["code"] == 100


def test_a_first_comment_and_replies_land_on_the_first_level(insta, media_id, client):
    first = insta.post(f"{media_id}/comments", message="first").get_json()["id"]
    reply = insta.post(f"{first}/replies", message="reply").get_json()["id"]
    insta.post(f"{reply}/replies", message="deeper")
    assert texts(insta.get(f"{first}/replies")) == ["deeper", "reply"]
    [post] = client.get("/_sim/posts").get_json()["posts"]
    assert [comment["parent_id"] for comment in post["comments"]] == [None, first, first]


def test_asking_for_fields_on_a_comment_fails_after_the_comment_exists(insta, media_id, client):
    answer = insta.post(f"{media_id}/comments", {"fields": "id,text"}, message="twice?")
    error = answer.get_json()["error"]
    assert (error["code"], error["error_subcode"]) == (20, 1772107)
    [post] = client.get("/_sim/posts").get_json()["posts"]
    assert [comment["text"] for comment in post["comments"]] == ["twice?"]
