"""Tests that the simulated YouTube behaves as platforms.md section 7 describes it."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient

from simulator.config import Settings
from simulator.samples import video

KIB = 1024
CLIP = video.make(5, 64, 64)
UPLOADS = "/www.googleapis.com/upload/youtube/v3/videos?part=snippet,status"
SNIPPET = {"title": "Bread", "description": "warm", "categoryId": "22"}


@dataclass
class Channel:
    """A client of the simulated YouTube with the token of one channel."""

    client: FlaskClient
    account_id: str
    token: str

    def call(self, method: str, path: str, **more: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.token}", **more.pop("headers", {})}
        return self.client.open(path, method=method, headers=headers, **more)

    def begin(self, size: int = len(CLIP), snippet: Any = SNIPPET, status: Any = None, **query: str) -> Any:
        return self.call(
            "POST", "/www.googleapis.com/upload/youtube/v3/videos",
            query_string={"uploadType": "resumable", "part": "snippet,status", **query},
            json={"snippet": snippet, "status": status or {}},
            headers={"X-Upload-Content-Type": "video/mp4", "X-Upload-Content-Length": str(size)},
        )  # fmt: skip

    def put(self, session: str, span: str, data: bytes = b"") -> Any:
        return self.call("PUT", session, data=data, headers={"Content-Range": f"bytes {span}"})

    def upload(self, data: bytes = CLIP, **more: Any) -> str:
        session = self.begin(len(data), **more).headers["Location"]
        made = self.put(session, f"0-{len(data) - 1}/{len(data)}", data)
        assert made.status_code == 201, made.json
        return str(made.get_json()["id"])

    def get(self, resource: str, **query: Any) -> Any:
        return self.call("GET", f"/www.googleapis.com/youtube/v3/{resource}", query_string=query)

    def delete(self, resource: str, thing_id: str) -> Any:
        return self.call(
            "DELETE", f"/www.googleapis.com/youtube/v3/{resource}", query_string={"id": thing_id}
        )

    def video(self, video_id: str, part: str = "status,snippet") -> Any:
        return self.get("videos", part=part, id=video_id).get_json()["items"][0]


@pytest.fixture
def settings() -> Settings:
    return Settings(slow_seconds=0.0, hang_seconds=0.0, youtube_uploads=3, youtube_units=200)


@pytest.fixture
def channel(client: FlaskClient) -> Channel:
    account = client.post("/_sim/accounts", json={"platform": "YT", "name": "Corner Bakery"}).get_json()
    return Channel(client, account["account_id"], account["access_token"])


def reason_of(answer):
    error = answer.get_json()["error"]
    return answer.status_code, error["errors"][0]["reason"]


def held(client):
    return client.get("/_sim/posts").get_json()["posts"]


def test_a_session_has_an_absolute_address_on_the_simulators_own_host(channel):
    answer = channel.begin()
    assert (answer.status_code, answer.data) == (200, b"")
    assert answer.headers["Location"].startswith(
        "http://localhost/www.googleapis.com/upload/youtube/v3/videos?uploadType=resumable"
    )


def test_pieces_are_answered_with_308_and_what_has_come(channel, client):
    data = CLIP + bytes(600 * KIB - len(CLIP))
    size = len(data)
    session = channel.begin(size).headers["Location"]
    nothing = channel.put(session, f"*/{size}")
    assert (nothing.status_code, nothing.headers.get("Range")) == (308, None)
    first = channel.put(session, f"0-{256 * KIB - 1}/{size}", data[: 256 * KIB])
    assert (first.status_code, first.headers["Range"], first.headers.get("Location")) == (
        308,
        "bytes=0-262143",
        None,
    )
    assert held(client) == []
    last = channel.put(session, f"{256 * KIB}-{size - 1}/{size}", data[256 * KIB :])
    assert (last.status_code, last.get_json()["status"]["uploadStatus"]) == (201, "uploaded")
    again = channel.put(session, f"*/{size}")
    assert (again.status_code, again.get_json()["id"]) == (200, last.get_json()["id"])


def test_a_session_makes_one_video_however_often_its_last_piece_comes(channel, client):
    session = channel.begin().headers["Location"]
    span = f"0-{len(CLIP) - 1}/{len(CLIP)}"
    made = [channel.put(session, span, CLIP).get_json()["id"] for _ in range(2)]
    assert [post["id"] for post in held(client)] == [made[0]] == made[1:]
    assert len(made[0]) == 11


@pytest.mark.parametrize("span", ["0-99/{size}", "262144-524287/{size}", "0-262143/9", "0-0", "*/7"])
def test_a_piece_that_does_not_fit_is_refused(channel, span):
    session = channel.begin(600 * KIB).headers["Location"]
    answer = channel.put(session, span.format(size=600 * KIB), bytes(100))
    assert answer.status_code == 400


def test_a_lost_session_is_404_and_another_channels_403(channel, client):
    session = channel.begin().headers["Location"]
    assert channel.put(session + "x", f"*/{len(CLIP)}").status_code == 404
    other = client.post("/_sim/accounts", json={"platform": "YT"}).get_json()
    stranger = Channel(client, other["account_id"], other["access_token"])
    assert stranger.put(session, f"*/{len(CLIP)}").status_code == 403
    client.post("/_sim/reset")
    assert channel.put(session, f"*/{len(CLIP)}").status_code == 404


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"title": ""}, "invalidTitle"), ({"title": "x" * 101}, "invalidTitle"), ({"title": "<"}, "invalidTitle"),
        ({"description": "é" * 2501}, "invalidDescription"), ({"description": ">"}, "invalidDescription"),
        ({"tags": ["x" * 501]}, "invalidTags"), ({"tags": ["a b"] * 84}, "invalidTags"),
        ({"categoryId": "music"}, "invalidCategoryId"),
    ],
)  # fmt: skip
def test_what_youtube_does_not_take_is_refused_before_the_upload(channel, change, reason):
    assert reason_of(channel.begin(snippet=SNIPPET | change)) == (400, reason)


def test_an_upload_has_bytes_and_metadata(channel):
    assert reason_of(channel.begin(0)) == (400, "mediaBodyRequired")
    assert reason_of(channel.begin(uploadType="media")) == (400, "mediaBodyRequired")


def test_a_session_needs_no_headers_about_the_file(channel, client):
    data = CLIP + bytes(600 * KIB - len(CLIP))
    session = channel.call("POST", f"{UPLOADS}&uploadType=resumable", json={"snippet": {"title": "Bread"}})
    piece = channel.put(session.headers["Location"], f"0-{512 * KIB - 1}/*", data[: 512 * KIB])
    assert (piece.status_code, piece.headers["Range"]) == (308, "bytes=0-524287")
    size = len(data)
    made = channel.put(session.headers["Location"], f"{512 * KIB}-{size - 1}/{size}", data[512 * KIB :])
    assert made.status_code == 201
    assert held(client)[0]["media"] == [{"type": "video", "bytes": size}]


def test_a_piece_without_a_range_is_the_whole_file(channel, client):
    session = channel.begin().headers["Location"]
    made = channel.call("PUT", session, data=CLIP)
    assert made.status_code == 201
    assert [post["id"] for post in held(client)] == [made.get_json()["id"]]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_file_and_metadata_can_come_in_one_call(channel, client, newline):
    metadata = json.dumps({"snippet": SNIPPET, "status": {"privacyStatus": "private"}}).encode()
    body = newline.join([
        b"--part", b"Content-Type: application/json", b"MIME-Version: 1.0", b"", metadata,
        b"--part", b"Content-Type: video/mp4", b"Content-Transfer-Encoding: binary", b"", CLIP, b"--part--", b"",
    ])  # fmt: skip
    kind = {"Content-Type": 'multipart/related; boundary="part"'}
    made = channel.call("POST", f"{UPLOADS}&uploadType=multipart", data=body, headers=kind)
    assert (made.status_code, made.get_json()["status"]["privacyStatus"]) == (200, "private")
    [post] = held(client)
    assert post["media"] == [{"type": "video", "bytes": len(CLIP)}]
    one_part = b"--part" + newline + metadata + newline + b"--part--"
    refused = channel.call("POST", f"{UPLOADS}&uploadType=multipart", data=one_part, headers=kind)
    assert reason_of(refused) == (400, "badContent")


def test_a_channel_deletes_its_videos_and_the_comments_under_them(channel, client):
    video_id = channel.upload()
    visitors = {"platform": "YT", "post_id": video_id, "from": "Vera", "text": "hi"}
    comment_id = client.post("/_sim/comments", json=visitors).get_json()["id"]
    other = client.post("/_sim/accounts", json={"platform": "YT"}).get_json()
    stranger = Channel(client, other["account_id"], other["access_token"])
    assert reason_of(stranger.delete("comments", comment_id)) == (403, "forbidden")
    assert reason_of(stranger.delete("videos", video_id)) == (404, "videoNotFound")
    assert channel.delete("comments", comment_id).status_code == 204
    assert held(client)[0]["comments"] == []
    assert channel.delete("videos", video_id).status_code == 204
    assert held(client) == []
    assert reason_of(channel.delete("videos", video_id)) == (404, "videoNotFound")


def test_a_video_is_uploaded_then_processed(channel, clock, sim):
    video_id = channel.upload(status={"privacyStatus": "unlisted"})
    assert channel.video(video_id)["status"]["uploadStatus"] == "uploaded"
    clock.pass_time(sim.settings.processing_seconds)
    shown = channel.video(video_id)
    assert (shown["status"]["uploadStatus"], shown["status"]["privacyStatus"]) == ("processed", "unlisted")
    assert shown["snippet"]["publishedAt"].endswith("Z")
    assert set(shown) == {"kind", "etag", "id", "status", "snippet"}


def test_a_rejected_video_is_seen_by_nobody(channel, client, plan_fault):
    video_id = channel.upload()
    plan_fault("YT", "status", "reject")
    assert channel.video(video_id)["status"] | {"selfDeclaredMadeForKids": 0, "madeForKids": 0} == {
        "uploadStatus": "rejected", "rejectionReason": "duplicate", "privacyStatus": "public",
        "selfDeclaredMadeForKids": 0, "madeForKids": 0,
    }  # fmt: skip
    assert held(client) == []


def test_what_is_no_film_fails(channel, client):
    status = channel.video(channel.upload(b"text"))["status"]
    assert (status["uploadStatus"], status["failureReason"], held(client)) == ("failed", "invalidFile", [])


def test_uploads_are_listed_in_the_channels_playlist_newest_first(channel):
    ids = [channel.upload(), channel.upload()]
    playlist = channel.get("channels", part="contentDetails", mine="true").get_json()["items"][0][
        "contentDetails"
    ]
    answer = channel.get(
        "playlistItems", part="snippet", playlistId=playlist["relatedPlaylists"]["uploads"]
    ).get_json()
    assert [row["snippet"]["resourceId"]["videoId"] for row in answer["items"]] == ids[::-1]


def test_counts_are_text_and_comments_missing_where_they_are_closed(channel, client):
    video_id, kids = channel.upload(), channel.upload(status={"selfDeclaredMadeForKids": True})
    client.post("/_sim/metrics", json={"platform": "YT", "post_id": video_id, "likes": 7, "comments": 2})
    counts = channel.video(video_id, "statistics")["statistics"]
    assert (counts["likeCount"], counts["commentCount"]) == ("7", "2")
    assert "commentCount" not in channel.video(kids, "statistics")["statistics"]
    assert reason_of(channel.get("commentThreads", part="snippet", videoId=kids)) == (403, "commentsDisabled")


def test_texts_are_html_unless_plain_text_is_asked_for_and_replies_are_partial(channel, client):
    video_id = channel.upload()
    body = {"platform": "YT", "post_id": video_id, "from": "Vera", "text": "a & b\nc"}
    first = client.post("/_sim/comments", json=body).get_json()["id"]
    for _ in range(3):
        reply = client.post("/_sim/comments", json=body | {"parent_id": first}).get_json()["id"]
    query = {"part": "snippet,replies", "videoId": video_id}
    [thread] = channel.get("commentThreads", **query).get_json()["items"]
    assert thread["snippet"]["topLevelComment"]["snippet"]["textDisplay"] == "a &amp; b<br>c"
    assert (thread["snippet"]["totalReplyCount"], len(thread["replies"]["comments"])) == (3, 2)
    [plain] = channel.get("commentThreads", textFormat="plainText", **query).get_json()["items"]
    assert plain["snippet"]["topLevelComment"]["snippet"]["textDisplay"] == "a & b\nc"
    assert len(channel.get("comments", part="snippet", parentId=first).get_json()["items"]) == 3
    answer = {"snippet": {"parentId": reply, "textOriginal": "no"}}
    assert (
        channel.call("POST", "/www.googleapis.com/youtube/v3/comments?part=snippet", json=answer).status_code
        == 400
    )


def test_of_comments_of_one_moment_the_last_comes_first(channel, client):
    body = {"platform": "YT", "post_id": channel.upload(), "from": "Vera", "text": "hello"}
    ids = [client.post("/_sim/comments", json=body).get_json()["id"] for _ in range(3)]
    threads = channel.get("commentThreads", part="snippet", videoId=body["post_id"]).get_json()["items"]
    assert [thread["id"] for thread in threads] == ids[::-1]


def test_the_quotas_are_filled_again_at_midnight_in_california(channel, clock):
    for _ in range(3):
        assert channel.begin().status_code == 200
    assert reason_of(channel.begin()) == (403, "quotaExceeded")
    assert channel.get("channels", part="snippet", mine="true").status_code == 200
    midnight = datetime(2026, 11, 21, 8, tzinfo=UTC)
    clock.pass_time((midnight - clock.now()) / timedelta(seconds=1) - 1)
    assert reason_of(channel.begin()) == (403, "quotaExceeded")
    clock.pass_time(1)
    assert channel.begin().status_code == 200


def test_a_comment_costs_fifty_units_and_a_list_one(channel):
    video_id = channel.upload()
    comment = {"snippet": {"videoId": video_id, "topLevelComment": {"snippet": {"textOriginal": "hi"}}}}
    for _ in range(3):
        assert (
            channel.call(
                "POST", "/www.googleapis.com/youtube/v3/commentThreads?part=snippet", json=comment
            ).status_code
            == 200
        )
    for _ in range(50):
        assert channel.get("videos", part="status", id=video_id).status_code == 200
    assert reason_of(channel.get("videos", part="status", id=video_id)) == (403, "quotaExceeded")


def test_a_token_that_is_no_good_or_over_is_401(channel, client):
    stranger = Channel(client, "", "ya29.none")
    assert reason_of(stranger.begin()) == (401, "authError")
    client.post(f"/_sim/accounts/{channel.account_id}/expire", json={})
    assert reason_of(channel.get("channels", part="snippet", mine="true")) == (401, "authError")


@pytest.mark.parametrize(
    ("operation", "mode", "told"),
    [
        ("upload", "rate_limit", (403, "rateLimitExceeded")), ("upload", "server_error", (503, "backendError")),
        ("upload", "expired", (401, "authError")), ("upload", "reject", (400, "invalidVideoMetadata")),
    ],
)  # fmt: skip
def test_a_planned_fault_is_told_in_googles_words(channel, plan_fault, operation, mode, told):
    plan_fault("YT", operation, mode)
    assert reason_of(channel.begin()) == told
    assert channel.begin().status_code == 200
