"""Tests X's posts, replies, reads and errors as platforms.md section 6 describes them."""

import json
from pathlib import Path

import pytest
from simulator_kit.x import Caller, problem_of

import testkit
from simulator.x.text import weight

RESTRICTED = "You can only reply to or quote posts where you are mentioned or are the author."


def test_a_post_answers_201_with_id_and_text(x, held):
    answer = x.post("tweets", {"text": "Fresh bread"})
    assert answer.status_code == 201
    assert answer.json["data"]["text"] == "Fresh bread"
    assert [post["id"] for post in held()] == [answer.json["data"]["id"]]
    assert answer.headers["x-rate-limit-limit"] == "100"
    assert answer.headers["x-rate-limit-remaining"] == "99"


def test_unknown_keys_are_refused(x, held):
    status, kind, _ = problem_of(x.post("tweets", {"text": "a", "colour": "red"}))
    assert (status, kind) == (400, "invalid-request")
    assert held() == []


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer nope"}])
def test_a_token_is_needed(x, headers):
    x.headers = headers
    assert problem_of(x.post("tweets", {"text": "a"}))[0] == 401


def test_an_expired_token_is_unauthorized(x, client):
    client.post(f"/_sim/accounts/{x.account_id}/expire", json={})
    assert problem_of(x.get("users/me")) == (401, "about:blank", "Unauthorized")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("hello", 5),
        ("日本", 4),
        ("👨‍👩‍👧‍👦", 2),
        ("e\u0301", 1),
        ("see https://example.com/a?b=c now", 31),
        ("a.com", 23),
    ],
)
def test_length_is_weighted(text, count):
    assert weight(text) == count


def test_every_text_has_the_length_that_twitter_text_gives_it():
    lengths = json.loads(Path(testkit.__path__[0], "x_text_lengths.json").read_text())
    assert {text: weight(text) for text in lengths} == lengths


@pytest.mark.parametrize(
    ("text", "status"), [("日" * 140, 201), ("日" * 141, 403), ("a" * 281, 403), ("", 400)]
)
def test_a_text_has_up_to_280(x, text, status):
    assert x.post("tweets", {"text": text}).status_code == status


def test_the_same_words_are_refused_for_a_day(x, clock, new_account):
    x.say("again")
    assert problem_of(x.post("tweets", {"text": "again"}))[2].endswith("duplicate content.")
    Caller(new_account("TW")).say("again")
    clock.pass_time(86_400)
    x.say("again")


def test_a_hundred_posts_fit_into_15_minutes(x, clock):
    for number in range(100):
        x.say(f"{number}")
    answer = x.post("tweets", {"text": "one more"})
    assert problem_of(answer)[0] == 429
    assert answer.headers["x-rate-limit-remaining"] == "0"
    clock.pass_time(15 * 60)
    x.say("one more")


def test_an_app_out_of_credits_posts_nothing_for_anybody(x, client, held):
    client.post("/_sim/x/credits", json={"left": 1})
    x.say("last")
    assert problem_of(x.get("users/me")) == (402, "credits-depleted", "credits depleted")
    client.post("/_sim/x/credits", json={})
    x.say("paid")
    assert len(held()) == 2


def test_replies_are_for_authors_and_those_who_are_mentioned(x, client, new_account):
    stranger = Caller(new_account("TW", username="stranger"))
    root = x.say("What do you think?")
    body = {"text": "Buy mine", "reply": {"in_reply_to_tweet_id": root}}
    assert problem_of(stranger.post("tweets", body)) == (403, "about:blank", RESTRICTED)
    named = x.say("What do you think, @Stranger?")
    assert stranger.say("Good", reply={"in_reply_to_tweet_id": named})
    visit = {"platform": "TW", "post_id": root, "from": "Ann Ade", "text": "Fine"}
    comment_id = client.post("/_sim/comments", json=visit).get_json()["id"]
    answer = x.post("tweets", {"text": "Thanks", "reply": {"in_reply_to_tweet_id": comment_id}})
    assert answer.json["data"]["text"] == "@AnnAde Thanks"


def test_a_conversation_is_found_for_seven_days(x, client, clock):
    root = x.say("root")
    for number in range(12):
        client.post(
            "/_sim/comments", json={"platform": "TW", "post_id": root, "from": "ann", "text": f"{number}"}
        )
    query = {"query": f"conversation_id:{root}", "tweet.fields": "author_id,referenced_tweets"}
    first = x.get("tweets/search/recent", **query, max_results=10, expansions="author_id").json
    assert first["meta"]["result_count"] == 10
    assert first["data"][0]["referenced_tweets"] == [{"type": "replied_to", "id": root}]
    assert first["includes"]["users"][0]["name"] == "ann"
    rest = x.get("tweets/search/recent", **query, max_results=10, next_token=first["meta"]["next_token"]).json
    assert [row["id"] for row in rest["data"]][-1] == root
    below = x.get("tweets/search/recent", **query, max_results=10, until_id=first["meta"]["oldest_id"]).json
    assert below["data"] == rest["data"]
    for wrong in ({"max_results": 9}, {"start_time": "2026-11-13T11:59:59Z"}, {"query": "cats"}):
        assert x.get("tweets/search/recent", **{**query, **wrong}).status_code == 400
    clock.pass_time(7 * 86_400 + 1)
    assert x.get("tweets/search/recent", **query).json == {"meta": {"result_count": 0}}


def test_texts_come_back_escaped_and_with_short_links(x):
    post_id = x.say("a & b <3 example.com")
    [row] = x.get(f"users/{x.account_id}/tweets", **{"post.fields": "entities,created_at"}).json["data"]
    [url] = row["entities"]["urls"]
    assert row["text"] == f"a &amp; b &lt;3 {url['url']}"
    assert row["text"][url["start"] : url["end"]] == url["url"]
    assert (row["id"], url["expanded_url"]) == (post_id, "http://example.com")


def test_a_post_that_is_not_there_is_an_error_inside_200(x):
    answer = x.get("tweets/1")
    assert answer.status_code == 200
    assert answer.json["errors"][0]["type"].endswith("resource-not-found")
    assert "data" not in answer.json


def test_the_account_and_the_counts_are_shown(x, client):
    post_id = x.say("counted")
    client.post("/_sim/metrics", json={"platform": "TW", "post_id": post_id, "likes": 5, "shares": 2})
    shown = x.get(f"tweets/{post_id}", **{"tweet.fields": "public_metrics"}).json["data"]["public_metrics"]
    assert (shown["like_count"], shown["retweet_count"], shown["reply_count"]) == (5, 2, 0)
    me = x.get("users/me", **{"user.fields": "profile_image_url,public_metrics"}).json["data"]
    assert (me["id"], me["username"]) == (x.account_id, "cornerbakery")
    assert me["profile_image_url"].endswith("_normal.jpg")


@pytest.mark.parametrize(
    ("mode", "operation", "expected"),
    [
        ("reject", "publish", (403, "about:blank")),
        ("rate_limit", "publish", (429, "about:blank")),
        ("server_error", "publish", (503, "about:blank")),
        ("expired", "publish", (401, "about:blank")),
        ("reject", "profile", (403, "client-forbidden")),
    ],
)
def test_planned_faults_are_worded_as_x_words_them(x, plan_fault, held, mode, operation, expected):
    plan_fault("TW", operation, mode)
    answer = x.get("users/me") if operation == "profile" else x.post("tweets", {"text": "a"})
    assert problem_of(answer)[:2] == expected
    assert held() == []


@pytest.mark.parametrize(
    "query",
    [
        {"tweet.fields": "colour"},
        {"tweet.fields": "note_post"},
        {"post.fields": "referenced_tweets"},
        {"post.fields": "author_id"},
        {"expansions": "friends"},
        {"user.fields": "age"},
    ],
)
def test_unknown_values_of_fields_are_refused(x, query):
    post_id = x.say("a")
    assert problem_of(x.get(f"tweets/{post_id}", **query))[:2] == (400, "invalid-request")


@pytest.mark.parametrize(
    ("served", "other"), [("tweet.fields", "post.fields"), ("post.fields", "tweet.fields")]
)
def test_one_name_for_fields_can_be_the_only_one(x, client, served, other):
    post_id = x.say("a")
    client.post("/_sim/x/fields", json={"name": served})
    assert x.get(f"tweets/{post_id}", **{served: "created_at"}).status_code == 200
    assert x.get(f"tweets/{post_id}", **{other: "created_at"}).status_code == 400


def test_the_newer_fields_have_newer_names(x, client):
    root = x.say("root")
    reply = x.say("more", reply={"in_reply_to_tweet_id": root})
    shown = x.get(f"tweets/{reply}", **{"post.fields": "public_metrics", "expansions": "referenced_posts"})
    data = shown.json["data"]
    assert data["referenced_posts"] == [{"type": "replied_to", "id": root}]
    assert "repost_count" in data["public_metrics"]
    assert "retweet_count" not in data["public_metrics"]


def test_an_account_deletes_its_posts_and_replies(x, held, new_account):
    root = x.say("root")
    reply = x.say("more", reply={"in_reply_to_tweet_id": root})
    assert Caller(new_account("TW")).delete(f"tweets/{root}").status_code == 403
    assert x.delete(f"tweets/{reply}").json == {"data": {"deleted": True}}
    assert held()[0]["comments"] == []
    assert x.delete(f"tweets/{root}").json == {"data": {"deleted": True}}
    assert held() == []
    assert x.delete(f"tweets/{root}").json == {"data": {"deleted": False}}


def test_several_posts_are_looked_up_at_once(x):
    ids = [x.say("one"), x.say("two")]
    answer = x.get("tweets", ids=",".join([*ids, "1"])).json
    assert [row["id"] for row in answer["data"]] == ids
    assert answer["errors"][0]["resource_id"] == "1"


@pytest.mark.parametrize(
    ("served", "names"),
    [
        ("tweet.fields", {"tweet_count"}),
        ("post.fields", {"post_count"}),
        (None, {"tweet_count", "post_count"}),
    ],
)
def test_the_number_of_posts_has_the_names_of_the_served_fields(x, client, served, names):
    client.post("/_sim/x/fields", json={"name": served})
    counts = x.get("users/me", **{"user.fields": "public_metrics"}).json["data"]["public_metrics"]
    assert {"tweet_count", "post_count"} & {*counts} == names
