"""The files of a post at the moment when it is sent."""

import pytest
from publishing_kit import fake_media
from publishing_kit.fake_media import FakeMedia
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.refusals import refused
from publishing_kit.world import World

from contracts import publishing as api
from publishing.posts import publish_now


@pytest.mark.parametrize(("platform_code", "mime_type"), [("IG", "image/png"), ("FB", "image/webp")])
def test_a_platform_gets_a_jpeg_of_what_it_does_not_take(
    world: World, media: FakeMedia, platform: FakePlatform, platform_code: str, mime_type: str
) -> None:
    jpeg, other = media.add(width=500, height=500), media.add(mime_type, width=500, height=500)
    world.schedule(world.page(platform_code), world.in_minutes(11), media_ids=(other, jpeg, other))
    world.shift(660)
    world.send()
    sources = platform.contents[0].media
    assert [source.url.rpartition("/")[0].rpartition("/")[2] for source in sources] == [other, jpeg, other]
    assert {source.content_type for source in sources} == {"image/jpeg"}
    assert sources[0].url.endswith("-made.jpg")
    assert media.calls[-2:] == ["attach", "files"]
    assert list(media.platforms.values()) == [(platform_code,)]


def test_a_file_gone_when_it_is_sent_fails_the_post_and_says_so(world: World, media: FakeMedia) -> None:
    photo = media.add()
    post = world.due_post(media_ids=(photo,))
    del media.files[photo]
    world.send()
    row = world.state(post.id)
    assert (row.state, row.error_code) == ("failed", "PLATFORM_REJECTED")
    assert row.error_message == "A file of this post is no longer there. (MEDIA_GONE)"
    assert world.events()[-1] == "post.failed"


def test_media_away_when_a_post_is_sent_puts_it_off(
    world: World, media: FakeMedia, platform: FakePlatform
) -> None:
    photo = media.add()
    post = world.due_post(media_ids=(photo,))
    media.is_away = True
    world.send()
    row = world.state(post.id)
    assert (row.state, row.attempts, platform.posts) == ("queued", 1, [])
    media.is_away = False
    world.shift(61)
    world.send()
    assert world.state(post.id).state == "published"


def test_what_media_has_made_of_a_file_is_judged_again_when_it_is_sent(
    world: World, media: FakeMedia, platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    big = media.add(size_bytes=30 * 2**20, width=500, height=500)
    post = world.schedule(world.page("IG"), world.in_minutes(11), media_ids=(big,))
    world.shift(660)
    monkeypatch.setattr(fake_media, "_rendition", lambda file, need: file)
    world.send()
    row = world.state(post.id)
    assert (row.state, platform.posts) == ("failed", [])
    assert "Instagram takes photos of at most 8,388,608 bytes" in row.error_message


def test_a_post_waits_for_its_files_without_using_up_an_attempt_and_goes_out_once(
    world: World, media: FakeMedia, platform: FakePlatform
) -> None:
    big = media.add("image/png", width=500, height=500)
    post = world.schedule(world.page("IG"), world.in_minutes(11), media_ids=(big,))
    world.shift(660)
    media.is_busy = True
    for _ in range(6):  # more often than there are attempts
        world.send()
        row = world.state(post.id)
        assert (row.state, row.attempts, row.error_code) == ("queued", 0, "MEDIA_PROCESSING")
        assert row.error_message == "40 % is done. The post goes out as soon as the file is ready."
        world.shift(5)
    assert world.ask("SELECT * FROM attempts") == []
    media.is_busy = False
    world.send()
    world.shift(60)
    world.send()
    row = world.state(post.id)
    assert (row.state, row.attempts, row.error_code, len(platform.posts)) == ("published", 1, None, 1)


@pytest.mark.parametrize("is_by_url", [False, True])
def test_a_publish_waits_for_its_files_and_then_says_so_with_nothing_stored(
    world: World, media: FakeMedia, platform: FakePlatform, monkeypatch: pytest.MonkeyPatch, is_by_url: bool
) -> None:
    monkeypatch.setattr(publish_now, "_FILES_SECONDS", 0.0)
    big, page, caller = (
        media.add("image/png", width=500, height=500),
        world.page("IG"),
        world.caller("op_1", 1),
    )
    request = api.PublishPost(page_id=page.id, media_ids=(big,))
    if is_by_url:
        request = api.PublishPost(page_id=page.id, media_urls=(f"http://127.0.0.1:8080/media/{big}/a.png",))
    media.is_busy = True
    error = refused(publish_now.publish, world.app, caller, request)
    assert (error.code, error.extras["retry_after_seconds"], platform.posts) == ("MEDIA_PROCESSING", 5, [])
    assert world.ask("SELECT * FROM posts") == []
    assert not media.in_use(big)
    media.is_busy = False
    assert publish_now.publish(world.app, world.caller("op_1", 2), request).was_published
    assert len(platform.posts) == 1


@pytest.mark.parametrize("base", ["http://127.0.0.1:8080/media", "https://cdn.posthaste.example"])
def test_an_uploads_own_url_is_taken_and_never_fetched_from_ourselves(
    world: World, media: FakeMedia, platform: FakePlatform, base: str
) -> None:
    photo = media.add()
    url = f"{base}/{photo}/a.jpeg"
    post = world.due_post(media_urls=(url,))
    world.send()
    assert media.calls == ["locate"]
    [source] = platform.contents[0].media
    assert (source.url, source.type, source.size_bytes, source.has_bytes) == (url, "photo", 1_000, True)
    assert world.state(post.id).media_types == ["photo"]


def test_what_only_looks_like_an_uploads_url_is_refused(world: World) -> None:
    for path in ("media/a", "media/../a/b.jpg", "media/a/b/c.jpg", "media/a/b.jpg?x", "healthz", "media//b"):
        error = refused(
            world.schedule, world.page(), world.in_minutes(11), media_urls=(f"http://127.0.0.1:8080/{path}",)
        )
        assert error.code == "INVALID_MEDIA_URL"


def test_a_picture_behind_an_uploads_url_is_made_to_fit(
    world: World, media: FakeMedia, platform: FakePlatform
) -> None:
    url = f"http://127.0.0.1:8080/media/{media.add('image/png')}/a.png"
    post = world.schedule(world.page("IG"), world.in_minutes(11), media_urls=(url,))
    world.shift(660)
    world.send()
    [source] = platform.contents[0].media
    assert (source.content_type, source.url[-9:]) == ("image/jpeg", "-made.jpg")
    assert world.state(post.id).state == "published"
