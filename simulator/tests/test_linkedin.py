"""LinkedIn, as platforms.md section 4 describes it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient
from simulator_kit.linkedin import Caller

from simulator import inspection
from simulator.linkedin.text import shown
from simulator.samples import photo, video


@pytest.fixture
def page(new_account: Callable[..., Any]) -> Caller:
    graph = new_account("LN", name="Corner Bakery", username="cornerbakery")
    return Caller(graph.client, graph.account_id, graph.token)


@pytest.fixture
def member(client: FlaskClient) -> Caller:
    made = client.post("/_sim/linkedin/members", json={"name": "Mel"}).get_json()
    return Caller(client, made["account_id"], made["access_token"])


@pytest.fixture
def held(client: FlaskClient) -> Callable[[], list[dict[str, Any]]]:
    return lambda: client.get("/_sim/posts?platform=LN").get_json()["posts"]


def error_of(answer):
    body = answer.get_json()
    inputs = (body.get("errorDetails") or {}).get("inputErrors") or [{}]
    return answer.status_code, body.get("code") or inputs[0].get("code")


def test_a_post_answers_201_with_its_id_in_a_header_alone(page, held):
    answer = page.post("posts", page.body("Fresh bread"))
    assert (answer.status_code, answer.data) == (201, b"")
    assert answer.headers["x-restli-id"].startswith("urn:li:share:")
    assert [(post["id"], post["text"]) for post in held()] == [(answer.headers["x-restli-id"], "Fresh bread")]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"LinkedIn-Version": None}, (400, "VERSION_MISSING")),
        ({"LinkedIn-Version": "202510"}, (426, "NONEXISTENT_VERSION")),
        ({"X-Restli-Protocol-Version": "1.0.0"}, (400, "ILLEGAL_ARGUMENT")),
        ({"Authorization": "Bearer nope"}, (401, "INVALID_ACCESS_TOKEN")),
    ],
)
def test_every_call_needs_version_protocol_and_token(page, headers, expected):
    page.headers = {name: value for name, value in (page.headers | headers).items() if value}
    answer = page.post("posts", page.body())
    assert error_of(answer) == expected


def test_the_oldest_version_moves_on(page, client):
    client.post("/_sim/linkedin/version", json={"oldest": 202608})
    assert page.post("posts", page.body()).status_code == 426


def test_tokens_that_are_over_have_codes_of_their_own(page, client, clock):
    client.post("/_sim/linkedin/young", json={"account_id": page.account_id, "seconds": 3})
    assert page.post("posts", page.body()).json["serviceErrorCode"] == 65601
    clock.pass_time(3)
    page.publish()
    client.post(f"/_sim/accounts/{page.account_id}/expire", json={})
    assert page.post("posts", page.body("again")).json["serviceErrorCode"] == 65602


def test_urns_in_addresses_have_to_be_encoded(page):
    urn = page.publish()
    assert page.get(f"posts/{quote(urn, safe='')}").json["id"] == urn
    assert page.get(f"posts/{urn}").status_code == 400


@pytest.mark.parametrize(
    ("commentary", "text"),
    [
        ("plain & simple", "plain & simple"),
        ("a \\(b\\) \\\\ \\#c", "a (b) \\ #c"),
        ("cut (here)", "cut "),
        ("cut *here*", "cut "),
        ("{hashtag|\\#|bread} and {hashtag|#|rolls}", "#bread and #rolls"),
        ("{hashtag|bread}", ""),
        ("all #rye now, {hashtag|\uff03|bread}", "all #rye now, \uff03bread"),
        ("a #_tag", "a "),
        ("by @[Corner Bakery](urn:li:organization:1)!", "by Corner Bakery!"),
        ("me @home", "me "),
        ("end \\", "end "),
    ],
)
def test_what_is_reserved_and_not_escaped_cuts_the_text_off(page, held, commentary, text):
    page.publish(commentary)
    assert held()[0]["text"] == text == shown(commentary)


def test_escapes_count_towards_3000(page):
    page.publish("\\(" * 1_500)
    assert error_of(page.post("posts", page.body("\\(" * 1_500 + "a"))) == (400, "FIELD_LENGTH_TOO_LONG")


@pytest.mark.parametrize(
    "change",
    [{"author": "urn:li:organization:1"}, {"visibility": "ALL"}, {"lifecycleState": "DRAFT"}, {"colour": 1},
     {"distribution": {}}, {"commentary": None}, {"content": {"poll": {}}}, {"content": {"article": {"source": "x"}}}],
)  # fmt: skip
def test_a_post_that_is_not_as_it_should_be_is_refused(page, held, change):
    assert page.post("posts", page.body() | change).status_code in (400, 403)
    assert held() == []


def test_the_same_post_is_refused_for_two_days_and_names_the_first(page, clock):
    urn = page.publish()
    answer = page.post("posts", page.body())
    assert error_of(answer) == (422, "DUPLICATE_POST")
    assert answer.json["message"] == f"Content is a duplicate of {urn}"
    clock.pass_time(48 * 3_600)
    page.publish()


def test_a_hundred_posts_a_day(page, clock):
    for number in range(100):
        page.publish(f"{number}")
    assert page.post("posts", page.body()).status_code == 429
    clock.pass_time(12 * 3_600)  # it was noon
    page.publish()


def test_a_photo_is_put_processed_and_posted(page, held, clock):
    urn = page.image(photo.draw(40, 30, "png"))
    content = {"media": {"id": urn, "altText": "Bread"}}
    assert error_of(page.post("posts", page.body(content=content))) == (400, "MEDIA_ASSET_WAITING_UPLOAD")
    assert page.get(f"images/{quote(urn, safe='')}").json["status"] == "PROCESSING"
    clock.pass_time(1)
    assert page.get(f"images/{quote(urn, safe='')}").json["status"] == "AVAILABLE"
    page.publish(content=content)
    assert held()[0]["media"][0]["alt_text"] == "Bread"


@pytest.mark.parametrize("data", [b"no picture", photo.draw(40, 30, "webp")])
def test_a_photo_that_will_not_do_fails_while_it_is_processed(page, clock, data):
    urn = page.image(data)
    clock.pass_time(1)
    assert page.get(f"images/{quote(urn, safe='')}").json["status"] == "PROCESSING_FAILED"
    answer = page.post("posts", page.body(content={"media": {"id": urn}}))
    assert error_of(answer) == (400, "MEDIA_ASSET_PROCESSING_FAILED")


def test_a_photo_goes_up_with_a_token_once(page):
    value, data = page.begin("images"), photo.draw(40, 30, "png")
    assert page.client.put(value["uploadUrl"], data=data).status_code == 401
    assert page.put(value["uploadUrl"], data).status_code == 201
    assert error_of(page.put(value["uploadUrl"], data)) == (400, "EXPIRED_UPLOAD_URL")


def test_upload_addresses_end_after_an_hour(page, clock):
    value = page.begin("images")
    clock.pass_time(3_601)
    assert error_of(page.put(value["uploadUrl"], b"x")) == (400, "EXPIRED_UPLOAD_URL")


def test_two_to_twenty_images_make_an_album(page, clock, held):
    urns = [page.image(photo.draw(40 + number, 30, "png")) for number in range(2)]
    clock.pass_time(1)
    for images, status in ((urns[:1], 400), (urns * 11, 400), (urns, 201)):
        content = {"multiImage": {"images": [{"id": urn} for urn in images]}}
        assert page.post("posts", page.body(content=content)).status_code == status
    assert len(held()[0]["media"]) == 2


def test_each_part_of_a_film_has_its_own_address(page, monkeypatch, clock, held):
    data = video.make(5)
    monkeypatch.setattr("simulator.linkedin.assets.PART_BYTES", len(data) // 3 + 1)
    value = page.begin("videos", fileSizeBytes=len(data))
    parts = value["uploadInstructions"]
    assert [part["firstByte"] for part in parts[1:]] == [part["lastByte"] + 1 for part in parts[:-1]]
    assert len({part["uploadUrl"] for part in parts}) == 3
    slices = [data[part["firstByte"] : part["lastByte"] + 1] for part in parts]
    assert page.put(parts[0]["uploadUrl"], slices[2]).status_code == 400
    etags = [
        page.put(part["uploadUrl"], piece).headers["ETag"] for part, piece in zip(parts, slices, strict=True)
    ]
    assert all(etag[0] == etag[-1] == '"' for etag in etags)
    ids = [etag.strip('"') for etag in etags]
    finish = {"video": value["video"], "uploadToken": value["uploadToken"]}
    for wrong in (ids[::-1], etags, ids[:2]):
        body = {"finalizeUploadRequest": finish | {"uploadedPartIds": wrong}}
        assert page.post("videos", body, action="finalizeUpload").status_code == 400
    body = {"finalizeUploadRequest": finish | {"uploadedPartIds": ids}}
    assert page.post("videos", body, action="finalizeUpload").status_code == 200
    assert page.post("videos", body, action="finalizeUpload").status_code == 400
    clock.pass_time(1)
    page.publish(content={"media": {"id": value["video"], "title": "Pan"}})
    assert held()[0]["media"] == [{"type": "video", "bytes": len(data)}]


@pytest.mark.parametrize("size", [75 * 1024 - 1, (500 << 20) + 1])
def test_films_have_75_kb_to_500_mb(page, size):
    request = {"initializeUploadRequest": {"owner": page.account_id, "fileSizeBytes": size}}
    assert page.post("videos", request, action="initializeUpload").status_code == 400


@pytest.mark.parametrize(("codec", "status"), [("h264", "AVAILABLE"), ("hevc", "PROCESSING_FAILED")])
def test_a_film_of_another_codec_than_h264_fails(page, clock, monkeypatch, codec, status):
    data = video.make(5)
    told = replace(inspection.video(data), codec=codec)
    monkeypatch.setattr(inspection, "video", lambda _: told)
    value = page.begin("videos", fileSizeBytes=len(data))
    [part] = value["uploadInstructions"]
    etag = page.put(part["uploadUrl"], data).headers["ETag"].strip('"')
    finish = {"video": value["video"], "uploadToken": value["uploadToken"], "uploadedPartIds": [etag]}
    page.post("videos", {"finalizeUploadRequest": finish}, action="finalizeUpload")
    clock.pass_time(10)
    assert page.get(f"videos/{quote(value['video'], safe='')}").json["status"] == status


def test_a_member_posts_and_reads_nothing_back(member, page, clock):
    urn = member.image(photo.draw(40, 30, "png"))
    clock.pass_time(1)
    post = member.publish(content={"media": {"id": urn}})
    for path, query in ((f"images/{quote(urn, safe='')}", {}), (f"posts/{quote(post, safe='')}", {}),
                        ("posts", {"q": "author", "author": member.account_id})):  # fmt: skip
        assert error_of(member.get(path, **query)) == (403, "ACCESS_DENIED")
    assert page.get("posts", q="author", author=member.account_id).status_code == 403
    me = member.client.get("/api.linkedin.com/v2/userinfo", headers=member.headers).json
    assert (me["sub"], me["name"]) == (member.account_id.rpartition(":")[2], "Mel")


def test_own_posts_are_found_newest_first_with_their_little_text(page):
    urns = [page.publish("one"), page.publish("two \\(2\\)")]
    answer = page.get("posts", q="author", author=page.account_id, count=10).json
    assert [row["id"] for row in answer["elements"]] == urns[::-1]
    assert answer["elements"][0]["commentary"] == "two \\(2\\)"
    assert answer["paging"]["total"] == 2
    assert [
        row["id"] for row in page.get("posts", q="author", author=page.account_id, start=1).json["elements"]
    ] == urns[:1]


def test_comments_stand_under_a_post_and_replies_under_a_first_comment(page, client):
    post = page.publish()
    first = page.comment(post, "plain (text) #1")
    assert first.status_code == 201
    urn = first.json["commentUrn"]
    assert (first.headers["x-restli-id"], first.json["message"]["text"]) == (
        first.json["id"],
        "plain (text) #1",
    )
    reply = page.comment(urn, "yes", parentComment=urn, object=first.json["object"])
    assert (reply.status_code, reply.json["parentComment"]) == (201, urn)
    nested = reply.json["commentUrn"]
    assert page.comment(nested, "no", parentComment=nested, object=post).status_code == 400
    assert page.comment(urn, "no", object=post).status_code == 400
    visit = {"platform": "LN", "post_id": post, "from": "Ann", "text": "Nice"}
    client.post("/_sim/comments", json=visit)
    rows = page.comments(post, start=0, count=10).json["elements"]
    assert [row["message"]["text"] for row in rows] == ["Nice", "plain (text) #1"]
    assert rows[0]["actor"].startswith("urn:li:person:")
    assert rows[1]["commentsSummary"]["totalFirstLevelComments"] == 1
    assert [row["commentUrn"] for row in page.comments(urn).json["elements"]] == [nested]
    one = page.get(f"socialActions/{quote(first.json['object'], safe='')}/comments/{reply.json['id']}").json
    assert one["parentComment"] == urn


def test_a_comment_has_1250_characters(page):
    post = page.publish()
    assert page.comment(post, "a" * 1_250).status_code == 201
    assert page.comment(post, "a" * 1_251).status_code == 400


def test_the_page_and_the_counts_are_shown(page, client):
    post = page.publish()
    client.post("/_sim/metrics", json={"platform": "LN", "post_id": post, "likes": 5})
    page.comment(post, "hi")
    told = page.get(f"socialMetadata/{quote(post, safe='')}").json
    assert told["reactionSummaries"]["LIKE"]["count"] == 5
    assert told["commentSummary"] == {"count": 1, "topLevelCount": 1}
    number = page.account_id.rpartition(":")[2]
    shown_page = page.get(f"organizations/{number}").json
    assert (shown_page["localizedName"], shown_page["vanityName"]) == ("Corner Bakery", "cornerbakery")
    assert page.get("organizations/1").status_code == 403
    size = page.get(
        f"networkSizes/{quote(page.account_id, safe='')}", edgeType="COMPANY_FOLLOWED_BY_MEMBER"
    ).json
    assert size["firstDegreeSize"] > 0
    names = page.get("organizationsLookup", ids=f"List({number},1)").json["results"]
    assert {key: row["localizedName"] for key, row in names.items()} == {number: "Corner Bakery"}


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("reject", (422, "UNPROCESSABLE_ENTITY")),
        ("rate_limit", (429, "TOO_MANY_REQUESTS")),
        ("server_error", (500, None)),
        ("expired", (401, "EXPIRED_ACCESS_TOKEN")),
    ],
)
def test_planned_faults_are_worded_as_linkedin_words_them(page, plan_fault, held, mode, expected):
    plan_fault("LN", "publish", mode)
    assert error_of(page.post("posts", page.body())) == expected
    assert held() == []


PATCH = {"X-RestLi-Method": "PARTIAL_UPDATE"}


def test_posts_are_read_in_one_call_each_with_its_own_result(page, client):
    first, second = page.publish("one"), page.publish("two")
    ids = f"List({first},{second},urn:li:share:9)"
    answer = page.get("posts", ids=ids).json
    assert answer["results"][first]["commentary"] == "one"
    assert answer["statuses"] == {first: 200, second: 200, "urn:li:share:9": 404}
    assert answer["errors"]["urn:li:share:9"]["code"] == "NOT_FOUND"
    client.post("/_sim/metrics", json={"platform": "LN", "post_id": first, "likes": 5})
    counts = page.get("socialMetadata", ids=f"List({first})").json["results"][first]
    assert counts["reactionSummaries"]["LIKE"]["count"] == 5


def test_a_post_is_changed_by_a_partial_update_and_deleted_as_often_as_one_likes(page, held):
    path = f"/api.linkedin.com/rest/posts/{quote(page.publish('frist'), safe='')}"
    body = {"patch": {"$set": {"commentary": "first"}}}
    assert page.client.post(path, json=body, headers=page.headers).status_code == 400
    assert page.client.post(path, json=body, headers=page.headers | PATCH).status_code == 204
    assert [post["text"] for post in held()] == ["first"]
    author = {"patch": {"$set": {"author": "urn:li:person:1"}}}
    assert page.client.post(path, json=author, headers=page.headers | PATCH).status_code == 400
    for _ in range(2):
        answer = page.client.delete(path, headers=page.headers)
        assert (answer.status_code, answer.data) == (204, b"")
    assert held() == []


def test_a_comment_is_edited_and_deleted(page, held):
    urn = page.publish()
    made = page.comment(urn, "frist").json
    path = f"/api.linkedin.com/rest/socialActions/{quote(urn, safe='')}/comments/{made['id']}"
    body = {"patch": {"message": {"$set": {"text": "first"}}}}
    assert page.client.post(path, json=body, headers=page.headers | PATCH).status_code == 204
    assert [one["text"] for one in held()[0]["comments"]] == ["first"]
    query = {"actor": page.account_id}
    assert page.client.delete(path, query_string=query, headers=page.headers).status_code == 204
    assert held()[0]["comments"] == []


def test_nobody_elses_post_is_changed_or_deleted(page, client):
    path = f"/api.linkedin.com/rest/posts/{quote(page.publish('mine'), safe='')}"
    other = client.post("/_sim/accounts", json={"platform": "LN"}).get_json()
    headers = page.headers | {"Authorization": f"Bearer {other['access_token']}"}
    assert client.delete(path, headers=headers).status_code == 403
    body = {"patch": {"$set": {"commentary": "theirs"}}}
    assert client.post(path, json=body, headers=headers | PATCH).status_code == 403
