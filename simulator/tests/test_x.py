"""X, as platforms.md section 6 describes it."""

import base64
import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

import testkit
from simulator.samples import photo, video
from simulator.x import media
from simulator.x.text import weight

RESTRICTED = "You can only reply to or quote posts where you are mentioned or are the author."


class Caller:
    """One account's token."""

    def __init__(self, graph):
        self.client, self.account_id = graph.client, graph.account_id
        self.headers = {"Authorization": f"Bearer {graph.token}"}

    def get(self, path, **query):
        return self.client.get(f"/api.x.com/2/{path}", query_string=query, headers=self.headers)

    def post(self, path, json=None, **form):
        data = {name: (BytesIO(v), "f") if isinstance(v, bytes) else v for name, v in form.items()}
        return self.client.post(f"/api.x.com/2/{path}", json=json, data=data or None, headers=self.headers)

    def delete(self, path):
        return self.client.delete(f"/api.x.com/2/{path}", headers=self.headers)

    def say(self, text, **more):
        answer = self.post("tweets", {"text": text, **more})
        assert answer.status_code == 201, answer.json
        return answer.json["data"]["id"]

    def upload(self, data, media_type="video/mp4", category="tweet_video", pieces=2):
        begun = {"media_type": media_type, "total_bytes": len(data), "media_category": category}
        media_id = self.post("media/upload/initialize", begun).json["data"]["id"]
        size = -(-len(data) // pieces)
        for index in reversed(range(pieces)):
            segment = data[index * size : (index + 1) * size]
            assert (
                self.post(
                    f"media/upload/{media_id}/append", segment_index=str(index), media=segment
                ).status_code
                == 200
            )
        return media_id, self.post(f"media/upload/{media_id}/finalize")

    def state(self, media_id):
        return self.get("media/upload", command="STATUS", media_id=media_id).json["data"]["processing_info"]


@pytest.fixture
def x(new_account: Callable[..., Any]) -> Caller:
    return Caller(new_account("TW", name="Corner Bakery", username="cornerbakery"))


@pytest.fixture
def held(client: FlaskClient) -> Callable[[], list[dict[str, Any]]]:
    return lambda: client.get("/_sim/posts?platform=TW").get_json()["posts"]


def problem_of(answer):
    body = answer.get_json()
    return answer.status_code, body["type"].rpartition("/")[2], body["detail"]


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


def test_a_photo_goes_up_in_one_call_and_into_a_post(x, held):
    answer = x.post("media/upload", media=photo.draw(40, 30, "png"), media_category="tweet_image")
    media_id = answer.json["data"]["id"]
    assert answer.json["data"]["media_key"] == f"3_{media_id}"
    described = {"id": media_id, "metadata": {"alt_text": {"text": "Bread"}}}
    assert x.post("media/metadata", described).status_code == 200
    post_id = x.say("look", media={"media_ids": [media_id]})
    assert held()[0]["media"][0]["alt_text"] == "Bread"
    shown = x.get(f"tweets/{post_id}", **{"tweet.fields": "attachments,entities"}).json["data"]
    assert shown["attachments"] == {"media_keys": [f"3_{media_id}"]}
    assert shown["text"] == f"look {shown['entities']['urls'][0]['url']}"


@pytest.mark.parametrize("data", [b"no picture", photo.draw(40, 30, "gif"), photo.draw(90, 90, "bmp")])
def test_what_is_no_photo_is_refused(x, data):
    assert x.post("media/upload", media=data, media_category="tweet_image").status_code == 400


def test_a_film_goes_up_in_segments_and_is_processed(x, clock, held):
    media_id, done = x.upload(video.make(2))
    assert done.json["data"]["processing_info"]["state"] == "pending"
    assert x.post("tweets", {"text": "early", "media": {"media_ids": [media_id]}}).status_code == 400
    clock.pass_time(0.3)
    assert x.state(media_id) == {"state": "in_progress", "check_after_secs": 1, "progress_percent": 50}
    clock.pass_time(0.3)
    assert x.state(media_id)["state"] == "succeeded"
    x.say("film", media={"media_ids": [media_id]})
    assert held()[0]["media"] == [{"type": "video", "bytes": len(video.make(2))}]


@pytest.mark.parametrize("data", [b"no film" * 9, video.make(141, 64, 64)])
def test_a_film_that_will_not_do_fails_while_it_is_processed(x, clock, data):
    media_id, done = x.upload(data)
    assert done.status_code == 200
    clock.pass_time(1)
    assert x.state(media_id)["error"]["name"] == "InvalidMedia"


def test_segments_must_come_to_the_announced_size(x):
    begun = {"media_type": "video/mp4", "total_bytes": 10, "media_category": "tweet_video"}
    media_id = x.post("media/upload/initialize", begun).json["data"]["id"]
    x.post(f"media/upload/{media_id}/append", segment_index="0", media=b"12345")
    assert x.post(f"media/upload/{media_id}/finalize").status_code == 400
    x.post(f"media/upload/{media_id}/append", segment_index="1", media=b"1234x")
    x.post(f"media/upload/{media_id}/append", segment_index="1", media=b"67890")
    assert x.post(f"media/upload/{media_id}/finalize").status_code == 200


@pytest.mark.parametrize(
    ("category", "kind", "limit_mib"), [("tweet_gif", "image/gif", 15), ("tweet_video", "video/mp4", 512)]
)
def test_each_category_has_its_largest_size(x, category, kind, limit_mib):
    for size, status in ((limit_mib << 20, 200), ((limit_mib << 20) + 1, 400), (0, 400)):
        begun = {"media_type": kind, "total_bytes": size, "media_category": category}
        assert x.post("media/upload/initialize", begun).status_code == status


def test_photos_and_segments_have_one_too(x, monkeypatch):
    assert (media.LIMIT_BYTES["tweet_image"], media.SEGMENT_BYTES) == (5 << 20, 4 << 20)
    monkeypatch.setitem(media.LIMIT_BYTES, "tweet_image", 99)
    monkeypatch.setattr(media, "SEGMENT_BYTES", 99)
    data = photo.draw(40, 30, "png")
    assert x.post("media/upload", media=data, media_category="tweet_image").status_code == 400
    begun = {"media_type": "video/mp4", "total_bytes": 6 << 20, "media_category": "tweet_video"}
    media_id = x.post("media/upload/initialize", begun).json["data"]["id"]
    answer = x.post(f"media/upload/{media_id}/append", segment_index="0", media=bytes(100))
    assert answer.status_code == 413


def test_a_gif_stands_alone_and_photos_are_four(x):
    gif, _ = x.upload(photo.draw(40, 30, "gif"), "image/gif", "tweet_gif")
    photos = [
        x.post("media/upload", media=photo.draw(40 + n, 30, "png"), media_category="tweet_image").json[
            "data"
        ]["id"]
        for n in range(5)
    ]
    x.client.application.extensions["simulation"].clock.pass_time(1)
    for media_ids, status in (
        ([gif, photos[0]], 403),
        (photos, 400),
        ([gif], 201),
        (photos[:4], 201),
        (["9"], 400),
    ):
        assert x.post("tweets", {"media": {"media_ids": media_ids}}).status_code == status


def test_another_accounts_file_cannot_be_used(x, new_account):
    media_id = x.post("media/upload", media=photo.draw(9, 9, "png"), media_category="tweet_image").json[
        "data"
    ]["id"]
    stranger = Caller(new_account("TW"))
    assert stranger.post("tweets", {"media": {"media_ids": [media_id]}}).status_code == 400


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


def test_a_segment_may_be_base64_in_json(x):
    begun = {"media_type": "video/mp4", "total_bytes": 5, "media_category": "tweet_video"}
    media_id = x.post("media/upload/initialize", begun).json["data"]["id"]
    body = {"segment_index": 0, "media": base64.b64encode(b"12345").decode()}
    assert x.post(f"media/upload/{media_id}/append", body).status_code == 200
    assert x.post(f"media/upload/{media_id}/finalize").status_code == 200


def test_a_segment_needs_no_name_of_a_file(x):
    """twitter-api-v2 sends none."""
    film = video.make(5, 64, 64)
    begun = {"media_type": "video/mp4", "total_bytes": len(film), "media_category": "tweet_video"}
    media_id = x.post("media/upload/initialize", begun).json["data"]["id"]
    part = b'--b\r\nContent-Disposition: form-data; name="%s"\r\n'
    body = (
        part % b"segment_index" + b"\r\n0\r\n"
        + part % b"media" + b"Content-Type: application/octet-stream\r\n\r\n" + film + b"\r\n--b--\r\n"
    )  # fmt: skip
    sent = x.client.post(
        f"/api.x.com/2/media/upload/{media_id}/append", data=body,
        headers=x.headers | {"Content-Type": "multipart/form-data; boundary=b"},
    )  # fmt: skip
    assert sent.status_code == 200, sent.json
    assert x.post(f"media/upload/{media_id}/finalize").status_code == 200


def test_a_photo_can_come_in_segments_and_is_ready_at_once(x, held):
    data = photo.draw(64, 64, "jpg")
    media_id, answer = x.upload(data, "image/jpeg", "tweet_image")
    assert "processing_info" not in answer.json["data"]
    x.say("", media={"media_ids": [media_id]})
    assert held()[0]["media"][0]["type"] == "photo"
    assert x.upload(b"text", "image/jpeg", "tweet_image")[1].status_code == 400


def test_an_upload_may_leave_out_the_category_and_a_look_the_command(x):
    begun = {"media_type": "video/mp4", "total_bytes": 5}
    media_id = x.post("media/upload/initialize", begun).json["data"]["id"]
    answer = x.get("media/upload", media_id=media_id).json["data"]
    assert (answer["processing_info"]["state"], answer["media_key"]) == ("uploading", f"7_{media_id}")


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
