"""Tests uploads to X: photos, films and GIFs, whole and in segments, and the posts to which they may be attached."""

import base64
from dataclasses import replace

import pytest
from simulator_kit.x import Caller

from simulator import inspection
from simulator.samples import photo, video
from simulator.x import media


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


@pytest.mark.parametrize("data", [b"no film" * 9, video.make(141, 64, 64), video.make(1, 1_922, 64)])
def test_a_film_that_will_not_do_fails_while_it_is_processed(x, clock, data):
    media_id, done = x.upload(data)
    assert done.status_code == 200
    clock.pass_time(1)
    assert x.state(media_id)["error"]["name"] == "InvalidMedia"


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_a_film_of_another_codec_than_h264_fails(x, clock, monkeypatch, codec):
    data = video.make(1)
    told = inspection.video(data)
    monkeypatch.setattr(inspection, "video", lambda _: replace(told, codec=codec))
    media_id, _ = x.upload(data)
    clock.pass_time(1)
    assert x.state(media_id)["state"] == ("succeeded" if codec == "h264" else "failed")


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


def test_a_segment_may_be_base64_in_json(x):
    begun = {"media_type": "video/mp4", "total_bytes": 5, "media_category": "tweet_video"}
    media_id = x.post("media/upload/initialize", begun).json["data"]["id"]
    body = {"segment_index": 0, "media": base64.b64encode(b"12345").decode()}
    assert x.post(f"media/upload/{media_id}/append", body).status_code == 200
    assert x.post(f"media/upload/{media_id}/finalize").status_code == 200


def test_a_segment_needs_no_name_of_a_file(x):
    """The client twitter-api-v2 sends segments without a file name."""
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
