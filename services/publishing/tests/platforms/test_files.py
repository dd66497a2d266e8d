"""The way of a post's files from the storage to the platform, against the simulator, which also plays the storage."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.fernet import Fernet

from contracts.errors import (
    FILE_TOO_LARGE,
    INVALID_FILE_CONTENT,
    MEDIA_PROCESSING,
    NOT_FOUND,
    QUOTA_EXCEEDED,
    ApiError,
)
from contracts.media import MediaFile
from publishing.config import Settings
from publishing.platforms.base import Content, PlatformRefusal, Refusal
from publishing.platforms.uploads.sources import stored
from publishing.records import Attached
from publishing.sending import fetched_files
from publishing.sending import post_files as files

from .simulated import Page, Simulator

MONDAY = datetime(2026, 11, 30, 9, tzinfo=UTC)
HOST = "http://media.posthaste.test/media"
PHOTO, FILM = "photo-800x800.jpg", "video-5s.mp4"


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, simulator: Simulator, media: Any) -> Any:
    monkeypatch.setenv("OUTBOUND_HOST_MAP", f"media.posthaste.test={simulator.url.removeprefix('http://')}")
    monkeypatch.setenv("PUBLIC_BASE_URL", simulator.url)
    monkeypatch.setenv("CREDENTIAL_KEYS", Fernet.generate_key().decode())
    return SimpleNamespace(settings=Settings.from_env(), media=media)


@pytest.fixture
def upload(media: Any, simulator: Simulator) -> Callable[..., str]:
    """`upload(name)` adds a file whose bytes the simulator holds. Returns its id."""

    def make(name: str, **changed: Any) -> str:
        body = simulator.media(name)[0]
        media_id = media.add("video/mp4" if name.endswith("mp4") else "image/jpeg", len(body))
        where = {"source_url": f"{simulator.url}/media/{name}", "public_url": f"{HOST}/{name}"} | changed
        known = {field: getattr(media.files[media_id], field) for field in MediaFile.__struct_fields__}
        media.files[media_id] = MediaFile(**known | where)
        return str(media_id)

    return make


@pytest.fixture(autouse=True)
def storage(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """The files that were copied, by address."""
    kept: dict[str, bytes] = {}

    def store(url: str, headers: Any, size_bytes: int, chunks: Any) -> None:
        kept[url] = b"".join(chunks)

    def opener(url: str, size_bytes: int) -> Any:
        return partial(nullcontext, iter([kept[url]])) if url in kept else stored(url, size_bytes)

    monkeypatch.setattr(fetched_files, "store", store)
    monkeypatch.setattr(files, "stored", opener)
    return kept


def post(app: Any, *media_ids: str, urls: tuple[str, ...] = (), platform: str = "FB") -> Any:
    media = [app.media.files[media_id] for media_id in media_ids]
    names = [name for name in Attached.__struct_fields__ if name != "url"]
    attached = [Attached(url=m.public_url, **{name: getattr(m, name) for name in names}) for m in media]
    owner = SimpleNamespace(account_id="usr_a")
    return SimpleNamespace(
        platform=platform,
        media_ids=list(media_ids),
        media_urls=list(urls),
        files=attached,
        owner=owner,
        id="pst_1",
        page_id="pag_1",
        operation_id=None,
        account_id="usr_a",
        origin="scheduled",
        scheduled_at=MONDAY,
        attempts_before=0,
    )


def posts(app: Any, count: int, **fields: Any) -> list[Any]:
    """Returns posts that one request made for several pages, each with the same URL."""
    made = [post(app, urls=(f"{HOST}/{PHOTO}",)) for _ in range(count)]
    for number, one in enumerate(made):
        one.id, one.page_id = f"pst_{number}", f"pag_{number}"
        one.operation_id = f"op_pag_{number}" if number else "op"
        vars(one).update(fields)
    return made


@pytest.mark.parametrize("names", [(PHOTO,), (PHOTO, "photo-500x500.jpg", PHOTO), (FILM,)])
def test_facebook_gets_the_bytes_of_uploads(
    names: tuple[str, ...],
    app: Any,
    upload: Callable[..., str],
    page_on: Callable[[str], Page],
) -> None:
    page, media_ids = page_on("FB"), [upload(name, public_url="http://nowhere.invalid/x") for name in names]
    page.publish(Content("bytes", files.held(app, post(app, *media_ids))))
    [kept] = page.posts
    assert [item["bytes"] for item in kept["media"]] == [app.media.files[m].size_bytes for m in media_ids]


def test_instagram_gets_the_public_address(
    app: Any, upload: Callable[..., str], page_on: Callable[[str], Page]
) -> None:
    user = page_on("IG")
    media_ids = [upload(name, source_url="http://nowhere.invalid/x") for name in (PHOTO, FILM)]
    user.publish(Content("addresses", files.held(app, post(app, *media_ids, platform="IG"))))
    [kept] = user.posts
    assert [item["type"] for item in kept["media"]] == ["photo", "video"]


def test_facebook_gets_the_bytes_of_our_copy_of_a_file_at_another_server(
    app: Any, page_on: Callable[[str], Page], storage: dict[str, bytes], simulator: Simulator
) -> None:
    page = page_on("FB")
    [source] = files.by_url(app, post(app, urls=(f"{HOST}/{PHOTO}",)))
    assert (source.content_type, source.has_bytes, source.is_ai_made) == ("image/jpeg", True, False)
    page.publish(Content("copied", (source,)))
    assert list(storage.values()) == [simulator.media(PHOTO)[0]]
    assert page.posts[0]["media"][0]["bytes"] == source.size_bytes


def test_a_picture_behind_a_url_is_made_to_fit_and_its_address_is_ours(app: Any, media: Any) -> None:
    media.copy_size = (800, 800)
    url = f"{HOST}/photo-800x800.png"
    [source] = files.by_url(app, post(app, urls=(url,), platform="IG"))
    assert source.content_type == "image/jpeg"
    assert source.url is not None
    assert source.url.endswith("-made.jpg")


def test_all_attempts_of_a_post_use_one_copy_even_if_the_files_server_is_gone_by_then(
    app: Any, storage: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same URL twice in one post, then a second attempt: one copy. The file's server is not asked again."""
    url = f"{HOST}/{PHOTO}"
    [first, second] = files.by_url(app, post(app, urls=(url, url)))
    monkeypatch.setattr(fetched_files, "stream", None)
    [again] = files.by_url(app, post(app, urls=(url,)))
    assert (len(storage), first.url, second.url) == (1, again.url, again.url)


def test_a_post_that_somebody_retries_gets_a_new_copy(app: Any, storage: dict[str, bytes]) -> None:
    one = post(app, urls=(f"{HOST}/{PHOTO}",))
    files.by_url(app, one)
    one.attempts_before = 4
    files.by_url(app, one)
    assert len(storage) == 2


@pytest.mark.parametrize("origin", ["scheduled", "immediate"])
def test_the_posts_of_one_request_use_one_copy(app: Any, storage: dict[str, bytes], origin: str) -> None:
    for one in posts(app, 3, origin=origin):
        files.by_url(app, one)
    assert len(storage) == 1


def test_a_post_that_is_moved_or_retried_gets_a_copy_of_its_own(app: Any, storage: dict[str, bytes]) -> None:
    first, moved, retried, other = posts(app, 4)
    moved.scheduled_at += timedelta(minutes=30)
    retried.attempts_before = other.attempts_before = 4
    for one in (first, moved, retried, other):
        files.by_url(app, one)
    assert len(storage) == 4


@pytest.fixture
def both_at_once(app: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Future[Any]]]:
    """`both_at_once()` sends two posts of one request: the second asks for the copy while the first makes it."""
    store, wait, is_waiting = fetched_files.store, fetched_files.wait, threading.Event()

    def store_late(*arguments: Any) -> None:
        assert is_waiting.wait(30)
        store(*arguments)

    def waits(*arguments: Any) -> Any:
        is_waiting.set()
        return wait(*arguments)

    def send() -> list[Future[Any]]:
        monkeypatch.setattr(fetched_files, "store", store_late)
        monkeypatch.setattr(fetched_files, "wait", waits)
        with ThreadPoolExecutor(2) as threads:
            return [threads.submit(files.by_url, app, one) for one in posts(app, 2)]

    return send


def test_posts_that_are_sent_at_once_wait_for_the_copy_that_one_of_them_makes(
    both_at_once: Callable[[], list[Future[Any]]], storage: dict[str, bytes]
) -> None:
    first, second = ([source.url for source in sent.result()] for sent in both_at_once())
    assert (first, len(storage)) == (second, 1)


@pytest.mark.parametrize("error", [ApiError(INVALID_FILE_CONTENT), MemoryError(), SystemExit()])
def test_posts_that_wait_for_a_copy_are_told_that_it_failed(
    both_at_once: Callable[[], list[Future[Any]]], media: Any, error: BaseException
) -> None:
    """If the thread that copies ends, the others may try again."""
    media.refusal = error
    raised = [type(sent.exception()) for sent in both_at_once()]
    of_thread = PlatformRefusal if isinstance(error, ApiError) else type(error)
    of_other = PlatformRefusal if isinstance(error, SystemExit) else of_thread
    assert set(raised) == {of_thread, of_other}
    assert media.calls.count("begin") == 1
    assert fetched_files._under_way == {}


def test_an_upload_that_media_no_longer_knows_has_become_the_copy(app: Any, media: Any) -> None:
    """The first answer was lost, or media has kept the copy of another process."""
    commit = media.commit_upload

    def committed(caller: Any, request: Any, *, timeout_seconds: float) -> Any:
        commit(caller, request, timeout_seconds=timeout_seconds)
        raise ApiError(NOT_FOUND)

    media.commit_upload = committed
    [source] = files.by_url(app, post(app, urls=(f"{HOST}/{PHOTO}",)))
    assert source.url == media.files["med_1"].public_url


def test_an_upload_that_has_ended_without_a_copy_is_worth_another_try(app: Any, media: Any) -> None:
    media.refusal = ApiError(NOT_FOUND)
    with pytest.raises(PlatformRefusal) as refusal:
        files.by_url(app, post(app, urls=(f"{HOST}/{PHOTO}",)))
    assert refusal.value.kind is Refusal.TRANSIENT


def test_a_post_waits_no_longer_for_a_copy_than_it_may(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"{HOST}/{PHOTO}"
    caller = fetched_files.copier("usr_a", "op", url)
    monkeypatch.setitem(fetched_files._under_way, (caller.account_id, caller.operation_id), Future())
    with pytest.raises(ApiError, match="still being fetched") as refusal:
        fetched_files.copy(app.media, app.settings, caller, url, 0.0)
    assert refusal.value.row is MEDIA_PROCESSING
    owner: Any = SimpleNamespace(account_id="usr_a")
    # Without an error: the post is sent, and waits longer then, like the one that makes the copy.
    files.await_ready(app, owner, "op", "FB", (), (url, url), 0.0)


def test_a_media_service_that_makes_no_copies_leaves_files_as_they_are(app: Any, media: Any) -> None:
    """That of release 1.4.0, which runs beside this one during the upgrade."""

    def unknown(*_: Any) -> None:
        raise ApiError(NOT_FOUND)

    media.get_made = unknown
    [source] = files.by_url(app, post(app, urls=(f"{HOST}/{PHOTO}",)))
    assert (source.url, source.has_bytes) == (f"{HOST}/{PHOTO}", True)


def test_a_copy_that_is_refused_leaves_no_upload_behind(app: Any, media: Any) -> None:
    media.refusal = ApiError(INVALID_FILE_CONTENT, "The file is damaged.")
    with pytest.raises(PlatformRefusal, match=r"photo-800x800\.jpg: The file is damaged") as refusal:
        files.by_url(app, post(app, urls=(f"{HOST}/{PHOTO}",)))
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "INVALID_FILE_CONTENT")
    assert media.uploads == {}


@pytest.mark.parametrize("row", [FILE_TOO_LARGE, QUOTA_EXCEEDED])
@pytest.mark.parametrize("step", ["begin_refusal", "refusal"])
def test_a_file_for_whose_copy_there_is_no_room_is_sent_as_it_is(
    app: Any, media: Any, page_on: Callable[[str], Page], row: Any, step: str
) -> None:
    page = page_on("FB")
    setattr(media, step, ApiError(row))
    [source] = files.by_url(app, post(app, urls=(f"{HOST}/{PHOTO}",)))
    assert source.url == f"{HOST}/{PHOTO}"
    page.publish(Content("as it is", (source,)))
    assert page.posts[0]["media"][0]["bytes"] == source.size_bytes


def test_while_the_media_service_is_away_a_file_at_another_server_is_worth_another_try(
    app: Any, media: Any
) -> None:
    media.is_away = True
    with pytest.raises(PlatformRefusal) as refusal:
        files.by_url(app, post(app, urls=(f"{HOST}/{PHOTO}",)))
    assert (refusal.value.kind, refusal.value.code) == (Refusal.TRANSIENT, "MEDIA_UNAVAILABLE")


def test_a_url_that_leads_elsewhere_by_the_time_it_is_sent_is_refused(
    app: Any, page_on: Callable[[str], Page]
) -> None:
    page = page_on("FB")
    source = fetched_files.as_it_is(app.settings, f"{HOST}/{PHOTO}")
    settings = app.settings
    for instead, code in (("text-as.jpg", "INVALID_FILE_CONTENT"), ("photo-800x800.png", "MEDIA_CHANGED"),
                          ("photo-300x300.jpg", "MEDIA_CHANGED"), ("none.jpg", "MEDIA_UNREACHABLE")):  # fmt: skip
        moved = replace(source, url=f"{HOST}/{instead}")
        moved = replace(moved, opener=lambda moved=moved: fetched_files._open(settings, moved))
        with pytest.raises(PlatformRefusal) as refusal:
            page.publish(Content("changed", (moved,)))
        assert refusal.value.code == code
    assert page.posts == []


def test_an_uploads_own_url_is_located_and_its_bytes_come_from_storage(
    app: Any, upload: Callable[..., str], page_on: Callable[[str], Page], simulator: Simulator
) -> None:
    page, media_id = page_on("FB"), upload(PHOTO)
    url = f"{simulator.url}/media/{media_id}/a.jpg"
    page.publish(Content("own", files.by_url(app, post(app, urls=(url,)))))
    size_bytes = app.media.files.pop(media_id).size_bytes
    assert page.posts[0]["media"][0]["bytes"] == size_bytes
    with pytest.raises(PlatformRefusal) as refusal:
        files.by_url(app, post(app, urls=(url,)))
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "MEDIA_GONE")


def test_a_file_that_our_ai_made_is_known_as_such_by_id_and_by_its_own_url(
    app: Any, upload: Callable[..., str], simulator: Simulator
) -> None:
    for generated in (True, False):
        media_id = upload(PHOTO, generated=generated)
        url = f"{simulator.url}/media/{media_id}/a.jpg"
        [held], [by_url] = (
            files.held(app, post(app, media_id)),
            files.by_url(app, post(app, urls=(url,))),
        )
        assert (held.is_ai_made, by_url.is_ai_made) == (generated, generated)
        assert Content("", (held,)).is_ai_made is generated
