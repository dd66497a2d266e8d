"""Tests that the simulated TikTok behaves as platforms.md section 5 describes it."""

from dataclasses import dataclass
from typing import Any

import pytest
from flask.testing import FlaskClient

from simulator.config import Settings
from simulator.samples import video

MIB = 2**20
CLIP = video.make(5, 64, 64)
PUBLIC = {"title": "Bread", "privacy_level": "PUBLIC_TO_EVERYONE"}


@dataclass
class Creator:
    """A client of the simulated TikTok with the token of one creator."""

    client: FlaskClient
    account_id: str
    token: str

    def post(self, path: str, body: Any = None, **query: str) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        return self.client.post(
            f"/open.tiktokapis.com/v2/{path}",
            json={} if body is None else body,
            headers=headers,
            query_string=query,
        )

    def begin(self, size: int = len(CLIP), chunk: int | None = None, count: int = 1, **info: Any) -> Any:
        source = {
            "source": "FILE_UPLOAD",
            "video_size": size,
            "chunk_size": chunk or size,
            "total_chunk_count": count,
        }
        return self.post("post/publish/video/init/", {"post_info": PUBLIC | info, "source_info": source})

    def photos(self, *urls: str, **info: Any) -> Any:
        source = {"source": "PULL_FROM_URL", "photo_images": urls, "photo_cover_index": 0}
        body = {
            "media_type": "PHOTO",
            "post_mode": "DIRECT_POST",
            "post_info": PUBLIC | info,
            "source_info": source,
        }
        return self.post("post/publish/content/init/", body)

    def put(self, url: str, span: str, data: bytes) -> Any:
        return self.client.put(
            url, data=data, headers={"Content-Range": f"bytes {span}", "Content-Type": "video/mp4"}
        )

    def user(self, fields: str) -> Any:
        answer = self.client.get(
            "/open.tiktokapis.com/v2/user/info/",
            query_string={"fields": fields},
            headers={"Authorization": f"Bearer {self.token}"},
        )
        return answer.get_json()["data"]["user"]

    def upload(self, data: bytes = CLIP, **info: Any) -> str:
        begun = self.begin(len(data), **info).get_json()["data"]
        assert self.put(begun["upload_url"], f"0-{len(data) - 1}/{len(data)}", data).status_code == 201
        return str(begun["publish_id"])

    def status(self, publish_id: str) -> Any:
        return self.post("post/publish/status/fetch/", {"publish_id": publish_id}).get_json()["data"]


@pytest.fixture
def settings() -> Settings:
    return Settings(slow_seconds=0.0, hang_seconds=0.0, tiktok_audited=True, tiktok_posts=8)


@pytest.fixture
def creator(client: FlaskClient) -> Creator:
    account = client.post("/_sim/accounts", json={"platform": "TT", "username": "bakery"}).get_json()
    return Creator(client, account["account_id"], account["access_token"])


def code_of(answer):
    return answer.status_code, answer.get_json()["error"]["code"]


def held(client):
    return client.get("/_sim/posts").get_json()["posts"]


def test_every_answer_has_an_error_that_may_say_ok(creator):
    answer = creator.post("post/publish/creator_info/query/")
    assert code_of(answer) == (200, "ok")
    assert "SELF_ONLY" in answer.get_json()["data"]["privacy_level_options"]
    assert answer.get_json()["data"]["max_video_post_duration_sec"] == 600


@pytest.mark.parametrize(
    ("size", "chunk", "count"),
    [
        (4 * MIB, 2 * MIB, 2), (12 * MIB, 5 * MIB, 3), (12 * MIB, 5 * MIB, 1), (12 * MIB, 4 * MIB, 3),
        (80 * MIB, 80 * MIB, 1), (130 * MIB, 64 * MIB, 2), (5 * 10**9, 16 * MIB, 298), (0, 0, 1), (12 * MIB, 0, 0),
    ],
)  # fmt: skip
def test_chunks_that_break_the_rules_are_refused(creator, size, chunk, count):
    source = {"source": "FILE_UPLOAD", "video_size": size, "chunk_size": chunk, "total_chunk_count": count}
    answer = creator.post("post/publish/video/init/", {"post_info": PUBLIC, "source_info": source})
    assert code_of(answer) == (400, "invalid_params")


def test_chunks_come_in_order_to_an_absolute_address_and_the_last_takes_the_rest(creator, client):
    size = 12 * MIB
    begun = creator.begin(size, 5 * MIB, 2).get_json()["data"]
    assert begun["upload_url"].startswith("http://localhost/open-upload.tiktokapis.com/video/?")
    spans = [f"0-{5 * MIB - 1}/{size}", f"{5 * MIB}-{size - 1}/{size}"]
    data = [CLIP + bytes(5 * MIB - len(CLIP)), bytes(7 * MIB)]
    assert creator.put(begun["upload_url"], spans[1], data[1]).status_code == 416
    first = creator.put(begun["upload_url"], spans[0], data[0])
    assert (first.status_code, first.headers["Content-Range"]) == (206, f"bytes 0-{5 * MIB - 1}/{size}")
    assert creator.put(begun["upload_url"], spans[0], data[0]).status_code == 416
    assert (creator.status(begun["publish_id"])["status"], held(client)) == ("PROCESSING_UPLOAD", [])
    assert creator.put(begun["upload_url"], spans[1], data[1]).status_code == 201
    assert creator.put(begun["upload_url"], spans[1], data[1]).status_code == 403
    assert len(held(client)) == 1


def test_an_upload_address_lives_an_hour_and_needs_its_token(creator, clock):
    url = creator.begin().get_json()["data"]["upload_url"]
    span = f"0-{len(CLIP) - 1}/{len(CLIP)}"
    assert creator.put(url + "x", span, CLIP).status_code == 403
    clock.pass_time(3_601)
    assert creator.put(url, span, CLIP).status_code == 403


def test_a_public_post_gets_its_id_after_it_was_looked_over(creator, clock, client):
    publish_id = creator.upload()
    assert creator.status(publish_id)["status"] == "PROCESSING_UPLOAD"
    clock.pass_time(0.5)
    done = creator.status(publish_id)
    assert (done["status"], done["publicaly_available_post_id"]) == ("PUBLISH_COMPLETE", [])
    clock.pass_time(0.5)
    [post_id] = creator.status(publish_id)["publicaly_available_post_id"]
    assert post_id == int(held(client)[0]["id"]) > 2**53
    query = {"filters": {"video_ids": [str(post_id)]}}
    [shown] = creator.post("video/query/", query, fields="id,share_url,like_count").get_json()["data"][
        "videos"
    ]
    assert shown["share_url"].startswith(f"https://www.tiktok.com/@bakery/video/{post_id}")


def test_a_private_post_never_gets_an_id(creator, clock):
    publish_id = creator.upload(privacy_level="SELF_ONLY")
    clock.pass_time(3_600)
    assert creator.status(publish_id)["publicaly_available_post_id"] == []


LONG = video.make(601, 16, 16)


@pytest.mark.parametrize(
    ("data", "reason"), [(b"text", "file_format_check_failed"), (LONG, "duration_check_failed")]
)
def test_a_file_that_is_no_good_fails(creator, client, data, reason):
    status = creator.status(creator.upload(data))
    assert (status["status"], status["fail_reason"], held(client)) == ("FAILED", reason, [])


def test_photos_are_fetched_and_jpegs(creator, client, media_url, clock):
    made = creator.photos(media_url + "photo-500x500.jpg", media_url + "photo-1080x1920.webp").get_json()[
        "data"
    ]
    assert creator.status(made["publish_id"])["status"] == "PROCESSING_DOWNLOAD"
    clock.pass_time(0.5)
    assert creator.status(made["publish_id"])["status"] == "PUBLISH_COMPLETE"
    assert [item["type"] for item in held(client)[0]["media"]] == ["photo", "photo"]
    for name, reason in (("photo-500x500.png", "file_format_check_failed"), ("404.jpg", "photo_pull_failed"),
                         ("huge.jpg", "picture_size_check_failed"), ("redirect", "photo_pull_failed"),
                         ("photo-1086x1448.jpg", "picture_size_check_failed")):  # fmt: skip
        failed = creator.photos(media_url + name).get_json()["data"]["publish_id"]
        clock.pass_time(60)
        assert creator.status(failed)["fail_reason"] == reason


def test_photos_need_a_host_that_tiktok_knows(creator, sim, media_url):
    object.__setattr__(sim.settings, "tiktok_verified_hosts", ("ours.example",))
    assert code_of(creator.photos(media_url + "photo-500x500.jpg")) == (403, "url_ownership_unverified")
    assert code_of(creator.photos()) == (400, "invalid_params")


@pytest.mark.parametrize(
    ("info", "told"),
    [
        ({"title": "👍" * 1_101}, (400, "invalid_params")), ({"privacy_level": None}, (400, "invalid_params")),
        ({"privacy_level": "FOLLOWER_OF_CREATOR"}, (403, "privacy_level_option_mismatch")),
    ],
)  # fmt: skip
def test_what_a_post_may_not_say_is_refused(creator, info, told):
    assert code_of(creator.begin(**info)) == told


def test_an_unaudited_app_posts_in_private_alone(creator, sim):
    object.__setattr__(sim.settings, "tiktok_audited", False)
    assert code_of(creator.begin()) == (403, "unaudited_client_can_only_post_to_private_accounts")
    assert code_of(creator.begin(privacy_level="SELF_ONLY")) == (200, "ok")


def test_six_inits_a_minute_and_so_many_posts_a_day(creator, clock):
    for _ in range(6):
        assert creator.begin().status_code == 200
    assert code_of(creator.begin()) == (429, "rate_limit_exceeded")
    clock.pass_time(60)
    for _ in range(2):
        assert creator.begin().status_code == 200
    assert code_of(creator.begin()) == (403, "spam_risk_too_many_posts")


def test_a_token_that_is_no_good_and_another_creators_post(creator, client):
    publish_id = creator.upload()
    other = client.post("/_sim/accounts", json={"platform": "TT"}).get_json()
    stranger = Creator(client, other["account_id"], other["access_token"])
    asked = stranger.post("post/publish/status/fetch/", {"publish_id": publish_id})
    assert code_of(asked) == (400, "token_not_authorized_for_specified_publish_id")
    assert code_of(stranger.post("post/publish/status/fetch/", {"publish_id": "v_0"})) == (
        400,
        "invalid_publish_id",
    )
    client.post(f"/_sim/accounts/{creator.account_id}/expire", json={})
    assert code_of(creator.begin()) == (401, "access_token_invalid")


def test_a_planned_fault_strikes_the_init_or_the_last_chunk(creator, client, plan_fault):
    plan_fault("TT", "publish", "server_error")
    assert code_of(creator.begin()) == (500, "internal_error")
    plan_fault("TT", "publish", "slow")
    creator.upload()
    plan_fault("TT", "status", "reject")
    publish_id = creator.upload()
    assert creator.status(publish_id)["fail_reason"] == "frame_rate_check_failed"
    assert len(held(client)) == 1


def test_a_user_has_an_id_across_apps_and_a_video_has_views(creator, client, clock):
    shown = creator.user("open_id,union_id,avatar_url_100,video_count")
    assert (shown["open_id"], shown["video_count"]) == (creator.account_id, 0)
    assert shown["union_id"] not in ("", creator.account_id)
    creator.upload()
    clock.pass_time(5)
    [post] = held(client)
    client.post("/_sim/metrics", json={"platform": "TT", "post_id": post["id"], "likes": 3})
    body = {"filters": {"video_ids": [post["id"]]}}
    [row] = creator.post("video/query/", body, fields="id,view_count,embed_link").get_json()["data"]["videos"]
    assert row["view_count"] >= 3
    assert row["embed_link"].startswith("https://www.tiktok.com/")
