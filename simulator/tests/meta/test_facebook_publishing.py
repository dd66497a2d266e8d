"""Tests writing to Facebook pages: platforms.md section 2."""

import io
import json
import re
from typing import Any

import pytest

from simulator.meta import uploads
from simulator.samples import photo, video


def error_of(answer):
    error = answer.get_json()["error"]
    return answer.status_code, error["code"], error.get("error_subcode")


def staged(page, media_url, name="photo-1200x630.jpg"):
    answer = page.post(f"{page.account_id}/photos", url=media_url + name, published="false")
    assert "post_id" not in answer.get_json()
    return answer.get_json()["id"]


def held(client):
    return client.get("/_sim/posts").get_json()["posts"]


def test_a_text_post_has_an_id_of_page_and_post(page, client):
    post_id = page.publish("Fresh bread")
    assert re.fullmatch(rf"{page.account_id}_\d+", post_id)
    assert [(p["id"], p["text"], p["account_id"]) for p in held(client)] == [
        (post_id, "Fresh bread", page.account_id)
    ]


def test_a_post_answers_with_the_fields_asked_for(page):
    answer = page.post(f"{page.account_id}/feed", {"fields": "id,permalink_url"}, message="hi").get_json()
    assert set(answer) == {"id", "permalink_url"}
    assert answer["permalink_url"].startswith("https://www.facebook.com/")


def test_a_link_is_kept_with_the_post(page, client):
    page.publish("look", link="https://example.com/a")
    assert held(client)[0]["settings"] == {"link": "https://example.com/a"}


@pytest.mark.parametrize(
    "form", [{}, {"message": ""}, {"message": "x", "link": "example.com"}, {"message": "x" * 63_207}]
)
def test_nothing_empty_or_too_long_or_with_a_bad_link_is_posted(page, client, form):
    assert error_of(page.post(f"{page.account_id}/feed", **form))[:2] == (400, 100)
    assert held(client) == []


def test_the_longest_text_is_posted(page):
    assert page.publish("x" * 63_206)


def test_a_post_kept_back_is_seen_by_nobody_until_it_goes_out(page, client):
    post_id = page.publish("wait", published="false")
    assert held(client) == []
    assert page.get(f"{page.account_id}/feed").get_json() == {"data": []}
    assert page.get(post_id, fields="is_published").get_json()["is_published"] is False
    assert error_of(page.post(f"{post_id}/comments", message="early"))[:2] == (400, 100)
    for _ in range(2):
        assert page.post(post_id, is_published="true").get_json() == {"success": True}
    assert [post["id"] for post in held(client)] == [post_id]


def test_deleted_posts_and_comments_are_gone(page, client):
    post_id = page.publish()
    comment_id = page.post(f"{post_id}/comments", message="oops").get_json()["id"]
    page.delete(comment_id)
    assert held(client)[0]["comments"] == []
    page.delete(post_id)
    assert held(client) == []
    assert error_of(page.get(post_id)) == (400, 100, 33)


def test_a_photo_by_url_is_fetched_and_becomes_a_post(page, client, media_url):
    answer = page.post(
        f"{page.account_id}/photos", url=media_url + "photo-1200x630.png", message="bread"
    ).get_json()
    assert answer["id"] != answer["post_id"]
    [post] = held(client)
    assert post["id"] == answer["post_id"]
    assert post["media"] == [{"type": "photo", "bytes": len(photo.draw(1200, 630, "png"))}]


def test_a_photo_can_be_sent_as_bytes(page, client):
    data = photo.draw(400, 400, "jpg")
    page.post(f"{page.account_id}/photos", source=(io.BytesIO(data), "a.jpg"))
    assert held(client)[0]["media"] == [{"type": "photo", "bytes": len(data)}]


@pytest.mark.parametrize("as_form_keys", [False, True])
def test_staged_photos_make_one_post_in_their_order(page, client, media_url, as_form_keys):
    ids = [staged(page, media_url, name) for name in ("photo-300x300.jpg", "photo-600x600.jpg")]
    assert held(client) == []
    rows = [{"media_fbid": photo_id} for photo_id in ids]
    form = {f"attached_media[{n}]": json.dumps(row) for n, row in enumerate(rows)}
    page.publish("two", **(form if as_form_keys else {"attached_media": json.dumps(rows)}))
    sizes = [len(photo.draw(300, 300, "jpg")), len(photo.draw(600, 600, "jpg"))]
    assert [medium["bytes"] for medium in held(client)[0]["media"]] == sizes


def test_a_staged_photo_is_posted_once_only(page, media_url):
    attached = json.dumps([{"media_fbid": staged(page, media_url)}])
    page.publish("first", attached_media=attached)
    again = page.post(f"{page.account_id}/feed", message="second", attached_media=attached)
    assert error_of(again) == (400, 100, 1366051)


def test_another_page_cannot_use_a_staged_photo(page, new_account, media_url):
    attached = json.dumps([{"media_fbid": staged(page, media_url)}])
    other = new_account("FB")
    assert error_of(other.post(f"{other.account_id}/feed", attached_media=attached))[:2] == (400, 100)


def test_at_most_ten_photos_make_a_post(page, media_url):
    rows = [{"media_fbid": staged(page, media_url)} for _ in range(11)]
    assert error_of(page.post(f"{page.account_id}/feed", attached_media=json.dumps(rows)))[:2] == (400, 100)
    page.publish(attached_media=json.dumps(rows[:10]))


def test_an_orphaned_photo_is_deleted(page, media_url):
    photo_id = staged(page, media_url)
    assert page.delete(photo_id).get_json() == {"success": True}
    assert error_of(page.get(photo_id)) == (400, 100, 33)


@pytest.mark.parametrize(
    ("name", "subcode"),
    [
        ("photo-800x800.webp", 1366046),
        ("photo-800x800-11mb.jpg", 1366046),
        ("huge.jpg", 1366046),
        ("404.jpg", 2069019),
        ("html-as.jpg", 2069019),
        ("text-as.jpg", 2069019),
    ],
)  # fmt: skip
def test_photos_that_will_not_do_are_refused(page, client, media_url, name, subcode):
    assert error_of(page.post(f"{page.account_id}/photos", url=media_url + name)) == (400, 324, subcode)
    assert held(client) == []


def test_a_video_has_an_id_of_its_own_and_its_post_comes_later(page, client, clock, settings, media_url):
    form = {"file_url": media_url + "video-5s.mp4", "description": "Oven", "title": "T"}
    video_id = page.post(f"{page.account_id}/videos", **form).get_json()["id"]

    def look():
        return page.get(video_id, fields="status,post_id").get_json()

    def listed():
        return page.get(f"{page.account_id}/published_posts").get_json()["data"]

    assert look()["status"]["video_status"] == "processing"
    assert listed() == []
    clock.pass_time(settings.processing_seconds)
    assert look()["status"]["video_status"] == "ready"
    assert [row["message"] for row in listed()] == ["Oven"]
    assert "post_id" not in look()
    clock.pass_time(settings.processing_seconds)
    [post] = held(client)
    assert look()["post_id"] == post["id"] != video_id
    assert (post["text"], post["settings"]) == ("Oven", {"title": "T"})
    assert post["media"] == [{"type": "video", "bytes": len(video.make(5))}]


@pytest.fixture
def pieces(page: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A page on which a film is uploaded in pieces of 2,000 bytes."""
    monkeypatch.setattr(uploads, "PIECE_BYTES", 2_000)
    film = video.make(5)

    class Pieces:
        def __init__(self):
            begun = self.call("start", file_size=len(film)).get_json()
            self.session, self.video_id = begun["upload_session_id"], begun["video_id"]
            self.next = begun

        def call(self, phase, **form):
            return page.post(f"{page.account_id}/videos", upload_phase=phase, **form)

        def send(self, start, end):
            piece = (io.BytesIO(film[start:end]), "piece")
            return self.call(
                "transfer", upload_session_id=self.session, start_offset=start, video_file_chunk=piece
            )

        def send_all(self):
            at = [int(self.next[name]) for name in ("start_offset", "end_offset")]
            while at[0] < at[1]:
                told = self.send(*at).get_json()
                at = [int(told[name]) for name in ("start_offset", "end_offset")]
            assert at == [len(film), len(film)]

        def finish(self, **form):
            return self.call("finish", upload_session_id=self.session, **form)

    return Pieces()


def test_a_film_in_pieces_is_seen_when_it_is_finished(page, client, clock, settings, pieces):
    pieces.send_all()
    clock.pass_time(60)
    status = page.get(pieces.video_id, fields="status").get_json()["status"]
    assert status["publishing_phase"] == {"status": "not_started"}
    assert held(client) == []
    assert pieces.finish(description="Oven").get_json() == {"success": True}
    clock.pass_time(settings.processing_seconds * 2)
    [post] = held(client)
    assert page.get(pieces.video_id, fields="post_id").get_json()["post_id"] == post["id"]
    assert (post["text"], post["media"]) == ("Oven", [{"type": "video", "bytes": len(video.make(5))}])


def test_another_piece_than_the_next_is_told_which_one_is(pieces):
    pieces.send(0, 2_000)
    for start in (0, 4_000):
        answer = pieces.send(start, start + 100)
        assert error_of(answer) == (400, 6001, 1363037)
        told = answer.get_json()["error"]["error_data"]
        assert told == {"start_offset": "2000", "end_offset": "4000"}


def test_a_session_is_finished_once_and_whole(client, pieces):
    assert error_of(pieces.finish())[:2] == (400, 6000)
    pieces.send_all()
    pieces.finish()
    assert error_of(pieces.finish())[:2] == (400, 100)
    assert len(held(client)) == 1


def test_planned_faults_meet_the_pieces_and_the_end_apart(client, pieces, plan_fault, page):
    plan_fault("FB", "upload", "server_error", account_id=page.account_id)
    plan_fault("FB", "publish", "reject", account_id=page.account_id)
    assert pieces.send(0, 2_000).status_code == 500
    pieces.send_all()
    assert error_of(pieces.finish())[:2] == (400, 368)
    assert pieces.finish().status_code == 200


def test_a_video_is_settled_within_a_second(settings):
    assert settings.processing_seconds * 1.5 <= 1.0


@pytest.mark.parametrize(
    ("name", "code"), [("photo-800x800.jpg", 352), ("404.mp4", 389), ("video-1200s.mp4", None)]
)
def test_only_films_are_taken_as_videos(page, media_url, name, code):
    answer = page.post(f"{page.account_id}/videos", file_url=media_url + name)
    assert answer.get_json().get("error", {}).get("code") == code


def test_a_first_comment_and_a_reply_land_on_the_post(page, client):
    post_id = page.publish()
    first = page.post(f"{post_id}/comments", message="first").get_json()["id"]
    reply = page.post(f"{first}/comments", message="reply").get_json()["id"]
    deeper = page.post(f"{reply}/comments", message="deeper").get_json()["id"]
    rows = held(client)[0]["comments"]
    assert [(c["id"], c["text"], c["parent_id"]) for c in rows] == [
        (first, "first", None), (reply, "reply", first), (deeper, "deeper", first),
    ]  # fmt: skip
    assert {c["from"] for c in rows} == {"Corner Bakery"}


def test_a_video_takes_comments_by_its_bare_id_only(page, client, media_url):
    video_id = page.post(f"{page.account_id}/videos", file_url=media_url + "video-5s.mp4").get_json()["id"]
    assert page.post(f"{video_id}/comments", message="nice").status_code == 200
    assert len(held(client)[0]["comments"]) == 1
    prefixed = page.post(f"{page.account_id}_{video_id}/comments", message="nice")
    assert error_of(prefixed) == (400, 100, 33)


def test_an_empty_comment_is_refused(page):
    assert error_of(page.post(f"{page.publish()}/comments", message=""))[:2] == (400, 100)


def test_another_page_cannot_touch_a_post(page, new_account):
    post_id = page.publish()
    other = new_account("FB")
    assert error_of(other.post(f"{post_id}/comments", message="x")) == (400, 100, 33)
    assert error_of(other.post(f"{page.account_id}/feed", message="x")) == (400, 100, 33)
    assert error_of(other.get(post_id)) == (400, 100, 33)
