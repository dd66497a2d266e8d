"""Instagram professional accounts, writing: platforms.md section 3."""

from typing import Any

import pytest

from simulator.meta import media


def error_of(answer):
    error = answer.get_json()["error"]
    return answer.status_code, error["code"], error.get("error_subcode")


def state(insta, container_id):
    return insta.get(container_id, fields="status_code").get_json()["status_code"]


def publish(insta, container_id):
    return insta.post(f"{insta.account_id}/media_publish", creation_id=container_id)


@pytest.fixture
def image(insta: Any, media_url: str) -> str:
    """Creates a container with a photo and returns its id."""
    return insta.contain(
        image_url=media_url + "photo-1080x1080.jpg", caption="Fresh #bread", alt_text="Bread"
    )


@pytest.fixture
def ready_image(image: str, clock: Any) -> str:
    clock.pass_time(1)
    return image


def test_a_container_is_in_progress_then_finished_then_published(insta, image, clock):
    assert state(insta, image) == "IN_PROGRESS"
    clock.pass_time(1)
    assert state(insta, image) == "FINISHED"
    publish(insta, image)
    assert state(insta, image) == "PUBLISHED"


def test_publishing_too_early_is_refused(insta, image, client):
    assert error_of(publish(insta, image)) == (400, 9007, 2207027)
    assert client.get("/_sim/posts").get_json()["posts"] == []


def test_a_published_photo_is_held_with_its_caption(insta, ready_image, client):
    media_id = publish(insta, ready_image).get_json()["id"]
    [post] = client.get(f"/_sim/posts?platform=IG&account_id={insta.account_id}").get_json()["posts"]
    assert (post["id"], post["text"], post["media"][0]["type"]) == (media_id, "Fresh #bread", "photo")
    assert post["settings"]["alt_text"] == "Bread"


def test_a_container_is_published_once_only(insta, ready_image, client):
    assert publish(insta, ready_image).status_code == 200
    assert error_of(publish(insta, ready_image)) == (400, 24, 2207006)
    assert len(client.get("/_sim/posts").get_json()["posts"]) == 1


def test_a_container_expires_after_a_day(insta, ready_image, clock):
    clock.pass_time(24 * 3600)
    assert state(insta, ready_image) == "EXPIRED"
    assert error_of(publish(insta, ready_image)) == (400, -2, 2207020)


def test_an_unknown_container_is_not_found(insta, new_account, ready_image):
    assert error_of(publish(insta, "17900000")) == (400, 24, 2207008)
    assert error_of(publish(new_account("IG"), ready_image)) == (400, 24, 2207008)


def test_there_is_no_post_of_text_alone(insta):
    assert error_of(insta.post(f"{insta.account_id}/media", caption="hello"))[:2] == (400, 100)


@pytest.mark.parametrize(
    ("name", "code", "subcode"),
    [
        ("photo-1080x1080.png", 36001, 2207005),
        ("photo-1080x1080.webp", 36001, 2207005),
        ("text-as.jpg", 36001, 2207005),
        ("photo-1080x1080-9mb.jpg", 36000, 2207004),
        ("huge.jpg", 36000, 2207004),
        ("photo-1000x1400.jpg", 36003, 2207009),
        ("photo-1200x600.jpg", 36003, 2207009),
        ("404.jpg", 9004, 2207052),
        ("html-as.jpg", 9004, 2207052),
        ("redirect?to=/media/photo-1080x1080.jpg", 9004, 2207052),
    ],
)
def test_photos_that_will_not_do_are_refused(insta, media_url, name, code, subcode):
    answer = insta.post(f"{insta.account_id}/media", image_url=media_url + name)
    assert error_of(answer) == (400, code, subcode)


def test_a_host_nobody_knows_cannot_be_fetched(insta):
    answer = insta.post(f"{insta.account_id}/media", image_url="https://nowhere.test/a.jpg")
    assert error_of(answer) == (400, 9004, 2207052)


@pytest.mark.parametrize(
    "name", ["photo-1080x1440.jpg", "photo-1080x566.jpg", "photo-200x200.jpg", "photo-4032x3024.jpg"]
)
def test_photos_at_the_edge_of_the_rules_are_taken(insta, media_url, name):
    assert insta.contain(image_url=media_url + name)


@pytest.mark.parametrize(
    ("caption", "subcode"),
    [("x" * 2201, 2207010), ("#a " * 31, 2207010), ("@ab " * 21, 2207040)],
)  # fmt: skip
def test_captions_beyond_the_limits_are_refused(insta, media_url, caption, subcode):
    answer = insta.post(
        f"{insta.account_id}/media", image_url=media_url + "photo-800x800.jpg", caption=caption
    )
    assert error_of(answer) == (400, 100, subcode)


def test_the_longest_caption_is_taken(insta, media_url):
    assert insta.contain(image_url=media_url + "photo-800x800.jpg", caption="x" * 2200)


def test_a_reel_is_published(insta, media_url, clock):
    reel = insta.contain(media_type="REELS", video_url=media_url + "video-5s.mp4")
    clock.pass_time(1)
    media_id = publish(insta, reel).get_json()["id"]
    shown = insta.get(media_id, fields="media_type,media_product_type,permalink").get_json()
    assert (shown["media_type"], shown["media_product_type"]) == ("VIDEO", "REELS")
    assert media_id not in shown["permalink"]


@pytest.mark.parametrize(
    ("name", "subcode"),
    [
        ("video-2s.mp4", 2207026),
        ("video-901s.mp4", 2207026),
        ("video-5s-moov-last.mp4", 2207026),
        ("photo-800x800.jpg", 2207026),
        ("404.mp4", 2207052),
    ],
)  # fmt: skip
def test_a_bad_video_shows_in_the_containers_status(insta, media_url, name, subcode):
    reel = insta.contain(media_type="REELS", video_url=media_url + name)
    shown = insta.get(reel, fields="status_code,status").get_json()
    assert shown["status_code"] == "ERROR"
    assert str(subcode) in shown["status"]
    assert error_of(publish(insta, reel))[1] == 9007


@pytest.mark.parametrize("limit", ["INSTAGRAM_VIDEO_WIDTH", "INSTAGRAM_VIDEO_BITS"])
def test_a_video_that_is_too_wide_or_has_too_many_bits_is_refused(insta, media_url, monkeypatch, limit):
    monkeypatch.setattr(media, limit, 100)
    reel = insta.contain(media_type="REELS", video_url=media_url + "video-5s.mp4")
    assert "2207026" in insta.get(reel, fields="status_code,status").get_json()["status"]


def test_video_is_no_media_type_of_a_post_of_its_own(insta, media_url):
    answer = insta.post(f"{insta.account_id}/media", media_type="VIDEO", video_url=media_url + "video-5s.mp4")
    assert error_of(answer)[:2] == (400, 100)


def test_a_carousel_of_photos_and_videos_is_one_post(insta, media_url, clock, client):
    children = [
        insta.contain(image_url=media_url + "photo-800x800.jpg", is_carousel_item="true"),
        insta.contain(media_type="VIDEO", video_url=media_url + "video-5s.mp4", is_carousel_item="true"),
    ]
    clock.pass_time(1)
    carousel = insta.contain(media_type="CAROUSEL", children=",".join(children), caption="both")
    clock.pass_time(1)
    publish(insta, carousel)
    [post] = client.get("/_sim/posts").get_json()["posts"]
    assert ([medium["type"] for medium in post["media"]], post["text"]) == (["photo", "video"], "both")


def test_a_carousel_waits_for_its_children(insta, media_url):
    photo = {"image_url": media_url + "photo-800x800.jpg", "is_carousel_item": "true"}
    children = ",".join(insta.contain(**photo) for _ in range(2))
    answer = insta.post(f"{insta.account_id}/media", media_type="CAROUSEL", children=children)
    assert error_of(answer) == (400, 9007, 2207027)


@pytest.mark.parametrize("count", [1, 11])
def test_a_carousel_has_two_to_ten_children(insta, media_url, clock, count):
    photo = {"image_url": media_url + "photo-800x800.jpg", "is_carousel_item": "true"}
    children = ",".join(insta.contain(**photo) for _ in range(count))
    clock.pass_time(1)
    answer = insta.post(f"{insta.account_id}/media", media_type="CAROUSEL", children=children)
    assert error_of(answer) == (400, 100, 2207028)


def test_a_carousel_child_is_not_published_by_itself(insta, media_url, clock):
    child = insta.contain(image_url=media_url + "photo-800x800.jpg", is_carousel_item="true")
    clock.pass_time(1)
    assert error_of(publish(insta, child)) == (400, 9007, 2207027)


def test_the_quota_is_enforced_when_publishing(insta, media_url, clock, settings):
    limit = f"{insta.account_id}/content_publishing_limit"
    for _ in range(settings.instagram_quota):
        container = insta.contain(image_url=media_url + "photo-320x320.jpg")
        clock.pass_time(1)
        assert publish(insta, container).status_code == 200
    [row] = insta.get(limit, fields="quota_usage,config").get_json()["data"]
    assert row == {"quota_usage": 50, "config": {"quota_total": 50, "quota_duration": 86400}}
    container = insta.contain(image_url=media_url + "photo-320x320.jpg")
    clock.pass_time(1)
    assert error_of(publish(insta, container)) == (400, 9, 2207042)


def test_a_pages_token_reaches_its_linked_account(page, media_url):
    linked = page.get(page.account_id, fields="instagram_business_account").get_json()
    user_id = linked["instagram_business_account"]["id"]
    assert page.post(f"{user_id}/media", image_url=media_url + "photo-800x800.jpg").status_code == 200
