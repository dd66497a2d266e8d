"""Tests reading from Facebook pages: platforms.md section 2."""

from urllib.parse import parse_qs, urlsplit

COUNTS = "reactions.limit(0).summary(total_count),comments.limit(0).summary(true),shares,permalink_url"


def say(client, post_id, text, **more):
    body = {"platform": "FB", "post_id": post_id, "from": "Ann", "text": text, **more}
    return client.post("/_sim/comments", json=body).get_json()["id"]


def messages(answer):
    return [row["message"] for row in answer.get_json()["data"]]


def test_engagement_leaves_shares_out_at_zero(page, client):
    post_id = page.publish()
    counts = page.get(post_id, fields=COUNTS).get_json()
    assert "shares" not in counts
    assert counts["reactions"] == {"data": [], "summary": {"total_count": 0}}
    body = {"platform": "FB", "post_id": post_id, "likes": 7, "comments": 3, "shares": 2}
    client.post("/_sim/metrics", json=body)
    counts = page.get(post_id, fields=COUNTS).get_json()
    assert (counts["reactions"]["summary"]["total_count"], counts["shares"]) == (7, {"count": 2})
    assert counts["comments"]["summary"]["total_count"] == 3


def test_times_are_written_as_meta_writes_them(page):
    assert (
        page.get(page.publish(), fields="created_time").get_json()["created_time"]
        == "2026-11-20T12:00:00+0000"
    )


def test_a_field_the_post_does_not_have_fails_the_call(page):
    error = page.get(page.publish(), fields="id,post_id").get_json()["error"]
    assert error["code"] == 100
    assert "post_id" in error["message"]


def test_the_feed_is_newest_first_and_read_in_pages(page):
    ids = [page.publish(str(n)) for n in range(5)]
    seen, after = [], None
    for _ in range(3):
        cursor = {"after": after} if after else {}
        answer = page.get(f"{page.account_id}/published_posts", fields="id", limit=2, **cursor).get_json()
        seen += [row["id"] for row in answer["data"]]
        after = answer["paging"]["cursors"]["after"]
    assert seen == ids[::-1]
    assert "next" not in answer["paging"]


def test_the_next_page_carries_no_token(page):
    for n in range(3):
        page.publish(str(n))
    following = page.get(f"{page.account_id}/feed", limit=2, fields="message").get_json()["paging"]["next"]
    query = parse_qs(urlsplit(following).query)
    assert "access_token" not in query
    address = urlsplit(following).path.removeprefix("/graph.facebook.com/v26.0/")
    assert messages(page.get(address, **{key: value[0] for key, value in query.items()})) == ["0"]


def test_the_feed_can_be_limited_to_what_came_since(page, clock):
    page.publish("before")
    clock.pass_time(60)
    page.publish("after")
    since = int(clock.now().timestamp()) - 10
    assert messages(page.get(f"{page.account_id}/feed", since=since)) == ["after"]


def test_comments_hide_replies_unless_asked_for(page, client):
    post_id = page.publish()
    first = say(client, post_id, "one")
    say(client, post_id, "reply", parent_id=first)
    say(client, post_id, "two")
    assert messages(page.get(f"{post_id}/comments")) == ["one", "two"]
    assert messages(page.get(f"{post_id}/comments", filter="toplevel", order="reverse_chronological")) == [
        "two",
        "one",
    ]
    assert messages(page.get(f"{post_id}/comments", filter="stream")) == ["one", "reply", "two"]
    assert messages(page.get(f"{first}/comments")) == ["reply"]


def test_a_comment_shows_its_author_parent_and_number_of_replies(page, client):
    post_id = page.publish()
    first = say(client, post_id, "one")
    reply = say(client, post_id, "reply", parent_id=first)
    fields = "id,message,from{id,name},created_time,comment_count,like_count,parent{id}"
    rows = page.get(f"{post_id}/comments", filter="stream", fields=fields).get_json()["data"]
    assert rows[0]["from"]["name"] == "Ann"
    assert [row["comment_count"] for row in rows] == [1, 0]
    assert [row.get("parent") for row in rows] == [None, {"id": first}]
    assert rows[1]["id"] == reply


def test_the_author_of_a_comment_may_be_left_out_and_the_page_never_is(page, client):
    post_id = page.publish()
    say(client, post_id, "one", named=False)
    page.post(f"{post_id}/comments", message="ours")
    rows = page.get(f"{post_id}/comments", fields="id,message,from{id,name}").get_json()["data"]
    assert [(row["message"], "from" in row) for row in rows] == [("one", False), ("ours", True)]


def test_comments_since_a_time_and_in_pages(page, client, clock):
    post_id = page.publish()
    say(client, post_id, "old")
    clock.pass_time(100)
    for n in range(3):
        say(client, post_id, f"new {n}")
    since = int(clock.now().timestamp())
    first = page.get(f"{post_id}/comments", since=since, limit=2)
    assert messages(first) == ["new 0", "new 1"]
    after = first.get_json()["paging"]["cursors"]["after"]
    assert messages(page.get(f"{post_id}/comments", since=since, limit=2, after=after)) == ["new 2"]


def test_a_page_shows_its_profile(page):
    fields = "name,username,followers_count,fan_count,picture.type(large)"
    profile = page.get(page.account_id, fields=fields).get_json()
    assert (profile["name"], profile["username"]) == ("Corner Bakery", "cornerbakery")
    assert profile["followers_count"] == profile["fan_count"] > 0
    assert page.client.get(profile["picture"]["data"]["url"]).status_code == 200


def test_attachments_tell_photos_from_links(page, media_url):
    page.post(f"{page.account_id}/photos", url=media_url + "photo-800x800.jpg")
    page.publish("l", link="https://example.com/")
    rows = page.get(f"{page.account_id}/feed", fields="attachments").get_json()["data"]
    assert [row["attachments"]["data"][0]["type"] for row in rows] == ["share", "photo"]
